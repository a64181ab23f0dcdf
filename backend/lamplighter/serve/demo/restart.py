"""The declared action of the demo's services: requests a restart from the stage.

`python -m lamplighter.serve.demo.restart SOCKET NAME`
"""

import socket
import sys

SECONDS = 20.0


def main(path: str, name: str) -> int:
    """Request the restart, wait for the answer, and return the exit status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(SECONDS)
        asking.connect(path)
        asking.sendall(name.encode() + b"\n")
        answer = asking.recv(1024).decode()
    print(answer.strip())  # noqa: T201  # what an action says
    return 0 if answer.startswith("started") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
