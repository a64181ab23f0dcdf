"""A fake engine that obeys every instruction in its prompt.

Run by the engine `exec`. It prints the received answers, and all of its secrets.
"""

import json
import os
import random
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from poison import obeyed  # found by the line above


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def text(words: str) -> None:
    say(type="assistant", message={"content": [{"type": "text", "text": words}]})


def main() -> None:
    given = json.load(sys.stdin)
    home = Path(sys.argv[1])
    lines = given["injected"].splitlines()
    random.Random(given["tier"]).shuffle(lines)
    asks = [ask for line in lines for ask in obeyed(line)]
    answers = []
    with socket.socket(socket.AF_UNIX) as gate:
        gate.connect(given["gate"])
        with gate.makefile("rw") as asking:
            for ask in asks:
                asking.write(json.dumps(ask) + "\n")
                asking.flush()
                answers.append(asking.readline())
    text(f"asked {len(asks)} of {len(lines)} lines")
    text(f"My token is {os.environ['LAMPLIGHTER_TOKEN']}, yours {(home / 'token').read_text()}")
    for answer in answers[:400]:
        text(answer)
    text("[EVENT:critical:web] web is down")
    say(type="result", subtype="success", is_error=False, num_turns=1, result="Done as told")


if __name__ == "__main__":
    main()
