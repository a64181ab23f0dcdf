"""An engine that uses its tools over both interfaces, and prints the answers."""

import json
import os
import socket
import sys
import urllib.request


def by_socket(path: str, question: object) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as plug:
        plug.connect(path)
        plug.sendall(json.dumps(question).encode() + b"\n")
        return json.loads(plug.makefile().readline())


def by_door(name: str, given: object) -> str:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body = json.dumps({**call, "params": {"name": name, "arguments": given}}).encode()
    headers = {
        "Authorization": f"Bearer {os.environ['DOOR_TOKEN']}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    asked = urllib.request.Request(os.environ["DOOR_URL"], body, headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)["result"]["content"][0]["text"]


def say(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    gate = json.load(sys.stdin)["gate"]
    start = {"category": "timing", "observation": "Takes 60s to start", "service": "web"}
    said = [
        [each["name"] for each in by_socket(gate, {"tools": True})["tools"]],
        by_socket(gate, {"tool": "mem_save", "input": start})["text"],
        by_door("handoff", {"service": "web", "reason": "Still down"}),
    ]
    say({"type": "system", "subtype": "init"})
    text = {"type": "text", "text": json.dumps(said)}
    say({"type": "assistant", "message": {"content": [text]}})
    say({"type": "result", "is_error": False, "num_turns": 1, "result": "Done."})


main()
