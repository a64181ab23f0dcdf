"""A fake engine that uses its gate: `asks.py SERVICE…` requests a restart of each, all at once.

It gives reasons like a model, and prints the answers at its end. A number among the services is the
number of memory markers that it prints meanwhile.
"""

import json
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def asked(service: str) -> str:
    wish = {"service": service, "action": "restart", "reason": f"{service} answers 503"}
    with socket.socket(socket.AF_UNIX) as gate:
        gate.connect(given["gate"])
        gate.sendall(json.dumps(wish).encode() + b"\n")
        answer = json.loads(gate.makefile().readline() or '{"words": "the gate is closed"}')
    return f"{service}: {answer['words']}"


def print_markers(count: int) -> None:
    for number in range(count):
        text = f"[MEMORY:behavior:svc{number}] Fact number {number}"
        say(type="assistant", message={"content": [{"type": "text", "text": text}]})


signal.signal(signal.SIGINT, signal.SIG_DFL)  # threads that wait would not be woken
given = json.load(sys.stdin)
say(type="system", subtype="init")
with ThreadPoolExecutor() as threads:
    threads.map(print_markers, [int(word) for word in sys.argv[1:] if word.isdigit()])
    services = [word for word in sys.argv[1:] if not word.isdigit()]
    words = "; ".join(threads.map(asked, services))
say(type="result", subtype="success", is_error=False, num_turns=1, result=words)
