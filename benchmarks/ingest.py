"""Reading stream-json. Limit: at least half the speed of json.loads alone."""

import json
from typing import Any, Final

from benchmarks.measure import in_turn, sized
from lamplighter.engines import stream

LINES: Final = sized(4_000, short=300)


def run() -> dict[str, Any]:
    """Parse the same lines with the product's parser and with json.loads alone."""
    lines = [_line(number) for number in range(LINES)]
    plain, ours = in_turn(
        9,
        lambda: [json.loads(line) for line in lines],
        lambda: [stream.parse(line) for line in lines],
    )
    return {
        "lines": LINES,
        "speed_of_json_loads": round(plain / ours, 2),
        "held": plain / ours >= 0.5,
    }


def _line(number: int) -> bytes:
    words = f"Step {number}: looking at the service, nothing unusual. " * 4
    block: dict[str, object] = {"type": "text", "text": words}
    if number % 3 == 0:
        block = {"type": "tool_use", "name": "check", "input": {"service": "jellyfin", "n": number}}
    message = {
        "type": "assistant",
        "message": {"id": f"m{number}", "content": [block]},
        "uuid": "x",
    }
    return json.dumps(message).encode()
