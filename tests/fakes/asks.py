"""A fake engine that asks its gate: `asks.py SERVICE…` wants each restarted, all at once.

It says why in the words of a model, and ends with what it was told.
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


signal.signal(signal.SIGINT, signal.SIG_DFL)  # threads that wait would not be woken
given = json.load(sys.stdin)
say(type="system", subtype="init")
with ThreadPoolExecutor() as threads:
    words = "; ".join(threads.map(asked, sys.argv[1:]))
say(type="result", subtype="success", is_error=False, num_turns=1, result=words)
