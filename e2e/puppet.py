"""An engine with output controlled by a test: it prints lines written into a FIFO.

A line `json …` is printed literally, `file …` prints the content of the file, `end` ends the
session successfully, any other line is printed as the assistant's text. `{now}` becomes the time of
printing in milliseconds.
"""

import json
import os
import sys
import time


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(path: str) -> None:
    say(type="system", subtype="init")
    # for writing too: so it never ends between two orders, when one might be lost
    with os.fdopen(os.open(path, os.O_RDWR), encoding="utf-8") as orders:
        for order in orders:
            words = order.rstrip("\n").replace("\\n", "\n")
            if words == "end":
                say(type="result", is_error=False, num_turns=1, total_cost_usd=0, result="Done.")
                return
            if words.startswith("file "):
                with open(words[5:], encoding="utf-8") as lines:
                    sys.stdout.writelines(lines)
                sys.stdout.flush()
                continue
            if words.startswith("json "):
                sys.stdout.write(words[5:] + "\n")
                sys.stdout.flush()
                continue
            words = words.replace("{now}", f"{time.time() * 1000:.3f}")
            say(type="assistant", message={"content": [{"type": "text", "text": words}]})


main(sys.argv[1])
