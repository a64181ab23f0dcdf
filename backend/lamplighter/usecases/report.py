"""Report: what a person says happened."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.admit import Redact, checked_service
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.event import Event, Level
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, events, writing
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
) -> Event:
    """Record an event of an operator's; raises Invalid naming each wrong field."""
    wrong: list[Wrong] = []
    service = checked_service(service, wrong)
    text = one_line(redact(text))
    if not text:
        wrong.append(Wrong("text", "says nothing"))
    if wrong:
        raise Invalid(*wrong)
    async with writing(db):
        service = await spelled(db, service, known)
        return await events.insert(db, level, text, service=service, source="operator", now=now)
