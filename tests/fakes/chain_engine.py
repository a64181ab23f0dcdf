"""A fake engine for chains: follows its plan for the requested tier.

`chain_engine.py PLAN`, where PLAN is a file: {tier: {"says": [words], "exit": code, "pause": s}}.
"""

import json
import sys
import time
from pathlib import Path


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    given = json.load(sys.stdin)
    plan = json.loads(Path(sys.argv[1]).read_text()).get(str(given["tier"]), {})
    for words in plan.get("says", ()):
        say(type="assistant", message={"content": [{"type": "text", "text": words}]})
    time.sleep(plan.get("pause", 0))
    if plan.get("result", True):
        say(type="result", subtype="success", is_error=plan.get("error", False), result="Report")
    sys.exit(plan.get("exit", 0))


if __name__ == "__main__":
    main()
