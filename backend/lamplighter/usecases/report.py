"""Report: what a person, a program or a session says happened."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.admit import Redact, checked_service
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.event import Event, Level
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, events, sessions, writing
from lamplighter.usecases.naming import spelled


async def report(
    db: Database,
    level: Level,
    text: str,
    *,
    service: str | None,
    now: datetime,
    redact: Redact,
    known: Sequence[str] = (),
    session_id: int | None = None,
) -> Event:
    """Record an event of an operator's, or of a session's; Invalid names each wrong field."""
    wrong: list[Wrong] = []
    service = checked_service(service, wrong)
    text = one_line(redact(text))
    if not text:
        wrong.append(Wrong("text", "says nothing"))
    if wrong:
        raise Invalid(*wrong)
    async with writing(db):
        service = await spelled(db, service, known)
        session = None if session_id is None else await sessions.get(db, session_id)
        return await events.insert(
            db,
            level,
            text,
            service=service,
            source="operator" if session is None else "session",
            session_id=session.id if session else None,
            tier=session.tier if session else 0,
            now=now,
        )
