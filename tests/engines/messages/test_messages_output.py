"""Displayed answers: text as it arrives, then the complete text in its place."""

import json
from pathlib import Path
from typing import Any

from lamplighter.api.sessions import session_log
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.line_times import ReadTimes
from lamplighter.engines.lines import block_line
from lamplighter.engines.messages import lines

PARTS = [lines.partial_line("One line."), lines.partial_line("[MEMORY:timing:caddy] Takes 5 s")]
WHOLE = block_line({"type": "text", "text": "One line.\n[MEMORY:timing:caddy] Takes 5 s"}, "m")
UNKNOWN_TIMES = ReadTimes(Path("/nonexistent/7.jsonl"))
SPENT = {"type": "system", "subtype": "spent"}  # what a turn used: before its whole answer


def read(line: Line) -> list[dict[str, Any]]:
    return session_log.entries(line, form="whole", redact=Redactor(), times=UNKNOWN_TIMES)


def test_a_complete_answer_replaces_its_partial_text(tmp_path: Path) -> None:
    file = tmp_path / "7.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in PARTS))

    before = session_log.forward(file, 0, limit=100, until=None, read=read)
    with file.open("a") as more:
        more.writelines(f"{json.dumps(each)}\n" for each in (SPENT, WHOLE))
    after = session_log.forward(file, 0, limit=100, until=None, read=read)
    rest = session_log.forward(file, before["next"], limit=100, until=None, read=read)

    assert [(each["kind"], each["text"]) for each in before["items"]] == [
        ("partial", "One line."),
        ("partial", "[MEMORY:timing:caddy] Takes 5 s"),
    ]
    assert [each["kind"] for each in after["items"]] == ["turn", "text"]
    assert rest["items"] == after["items"]
