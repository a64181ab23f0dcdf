"""The output of the probe: the stream-json form of the Claude CLI."""

import json
from dataclasses import dataclass
from time import monotonic
from typing import BinaryIO

from lamplighter.engines.lines import Line


@dataclass(slots=True)
class Output:
    """The output of a session, a line at a time; it counts the reported checks."""

    file: BinaryIO
    started: float
    session: str | None = None
    turns: int = 0

    def emit(self, line: Line) -> None:
        """Print one line at once."""
        self.turns += line["type"] == "user"
        text = json.dumps({**line, "session_id": self.session})
        self.file.write(text.encode() + b"\n")
        self.file.flush()

    def end(self, result: str, *, failed: bool = False) -> None:
        """Print the last line."""
        self.emit(
            {
                "type": "result",
                "subtype": "error_during_execution" if failed else "success",
                "is_error": failed,
                "num_turns": self.turns,
                "total_cost_usd": 0,
                "duration_ms": round((monotonic() - self.started) * 1000),
                "result": result,
                **({"errors": [result]} if failed else {}),
            }
        )
