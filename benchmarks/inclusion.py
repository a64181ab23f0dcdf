"""Why a memory is in the next prompt or not, with 10,000; limit: 1.5 times packing the prompt."""

import http.client
import json
import random
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from app import App  # of e2e/
from benchmarks.measure import in_turn, sized
from benchmarks.memory import HELD, _filled

ASKED: Final = 20
ROUNDS: Final = sized(9, short=2)
CONTEXT: Final = "/api/v1/context?sections=operational"


def run() -> dict[str, Any]:
    """Request the prompt and the inclusion of random memories in turn, over one connection."""
    numbers = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        _filled(home / "lamplighter.db", HELD, services=200)
        app = App(home).start("web")
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
                way_in = app.way_in()

                def ask(path: str) -> None:
                    connection.request("GET", path, headers=way_in)
                    assert "total" in json.loads(connection.getresponse().read())

                def shown() -> None:
                    for _ in range(ASKED):
                        ask(CONTEXT)

                def why() -> None:
                    for _ in range(ASKED):
                        ask(f"/api/v1/memories/{numbers.randrange(1, HELD + 1)}/prompt")

                prompt, place = in_turn(ROUNDS, shown, why)
        finally:
            app.stop()
    ratio = place / prompt
    return {
        "prompt_ms": round(prompt / ASKED * 1000, 2),
        "why_ms": round(place / ASKED * 1000, 2),
        "ratio": round(ratio, 2),
        "limit": 1.5,
        "held": ratio <= 1.5,
    }
