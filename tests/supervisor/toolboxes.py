"""The tools of a session, as its engine uses them."""

from pathlib import Path
from typing import Any

from gates import NOON, gate

from contexts import ingesting
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database
from lamplighter.supervisor import tools
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.sessions.toolbox import ToolOutput

SECRETIVE = Redactor({"hunter2-hunter2": "DB_PASSWORD"})


def box(
    db: Database,
    session: Session,
    *,
    roots: tuple[Path, ...] = (),
    private: tuple[Path, ...] = (),
    most: int = 5_000,
    **more: Any,
) -> Toolbox:
    """Return the tools of a session."""
    asked = gate(db, session, **({"redact": SECRETIVE} | more))
    known = [each.name for each in asked.services]
    offered = ToolContext(
        gate=asked,
        ingest=lambda: ingesting(db, session, asked.here.redact, known, max_markers=most),
        readable=Readable(roots=roots, private=private),
    )
    return Toolbox(gate=asked, tools=tools.build_tools(offered))


async def used(box: Toolbox, name: str, **given: Any) -> ToolOutput:
    """Use a tool and return its output; the use must succeed."""
    answer = await box.use(name, given)
    assert not answer.is_error, answer.text
    return answer


async def refused(box: Toolbox, name: str, **given: Any) -> str:
    """Use a tool that must refuse, and return the reason."""
    answer = await box.use(name, given)
    assert answer.is_error, answer.text
    return answer.text


__all__ = ["NOON", "SECRETIVE", "box", "refused", "used"]
