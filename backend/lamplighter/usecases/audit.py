"""Audit: what is believed on a service or a word, and what it rests on."""

from collections.abc import Sequence
from typing import Any

from lamplighter.domain.audit import Audit, beliefs
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.service import GENERAL, fold
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, grounds, reading
from lamplighter.usecases.naming import spelled


async def audit(
    db: Database,
    topic: str,
    *,
    known: Sequence[str] = (),
    limit: int,
    position: Sequence[Any] | None = None,
) -> Audit:
    """Return one page of what is believed on a service, or where a word is said; raises Invalid."""
    topic = one_line(topic)
    if not topic:
        raise Invalid(Wrong("topic", "says nothing"))
    topic = GENERAL if fold(topic) == GENERAL else topic
    async with reading(db):
        service = await spelled(db, topic, known)
        found = await grounds.believed(db, topic, service, limit=limit, position=position)
        active, inactive = await grounds.counted(db, topic, service)
        rest = await grounds.of(db, [memory.id for memory in found.items])
    return Audit(
        topic=topic,
        service=service,
        beliefs=beliefs(found.items, rest),
        active=active,
        inactive=inactive,
        position=None if found.position is None else tuple(found.position),
    )
