"""Clients: their sessions, which begin and end as they say, and what is left of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.admit import Redact
from lamplighter.domain.agent import project_of
from lamplighter.domain.errors import Invalid, NotFound, Wrong
from lamplighter.domain.session import Session, Status
from lamplighter.domain.summary import Message, summary_of
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, client_sessions, sessions, writing

ID_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A session that a client begins; `external_id` is the client's own name for it."""

    external_id: str
    project: str
    agent: str | None = None
    directory: str | None = None


async def start(db: Database, opening: Opening, *, now: datetime) -> tuple[Session, bool]:
    """Begin a client's session; says whether it is new. Begun twice it is the same one."""
    name = one_line(opening.external_id)
    if not name or len(name) > ID_CHARS:
        raise Invalid(Wrong("id", f"has 1 to {ID_CHARS} characters"))
    async with writing(db):
        held = await client_sessions.of(db, name)
        if held is not None:
            return held, False
        made = await client_sessions.insert(
            db,
            name,
            project=project_of(opening.project),
            agent=opening.agent,
            directory=opening.directory,
            now=now,
        )
        return made, True


async def end(
    db: Database,
    external_id: str,
    messages: Sequence[Message],
    *,
    redact: Redact,
    summarize: bool = True,
    summary: str = "",
    now: datetime,
) -> Session:
    """End a client's session, with the summary of its transcript; raises NotFound.

    A `summary` that the client wrote stands in the place of ours. Ended again it keeps
    what it has, unless that was nothing.
    """
    async with writing(db):
        held = await client_sessions.of(db, one_line(external_id))
        if held is None:
            raise NotFound(f"There is no session {one_line(external_id)[:ID_CHARS]!r}.")
        words = redact(summary.strip() or summary_of(messages)) if summarize else ""
        ended = await sessions.end(db, held.id, Status.COMPLETED, summary=words, now=now)
        if ended is None and words and not held.summary:
            ended = await client_sessions.summarize(db, held.id, words, now=now)
        return ended or held


async def recent(db: Database, project: str, *, limit: int) -> list[Session]:
    """Return the last sessions of a project that left a summary, newest first."""
    return await client_sessions.recent(db, project_of(project), limit=limit)
