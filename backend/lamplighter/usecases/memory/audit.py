"""The audit of a topic: the memories about it, and the evidence for each."""

from collections.abc import Sequence
from typing import Any

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.domain.text import one_line
from lamplighter.formats.audit import Audit, attach_evidence
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import evidence
from lamplighter.repository.memory.memories import service_name


async def page_on_topic(
    db: Database,
    topic: str,
    *,
    services: Sequence[str] = (),
    limit: int,
    position: Sequence[Any] | None = None,
) -> Audit:
    """Return one page of the memories about a service, or with a word in their text.

    Raises Invalid.
    """
    topic = one_line(topic)
    if not topic:
        raise Invalid(InvalidField("topic", "must not be empty"))
    topic = GENERAL if normalize_service_name(topic) == GENERAL else topic
    async with reading(db):
        service = await service_name(db, topic, services)
        result = await evidence.page_on_topic(db, topic, service, limit=limit, position=position)
        page = result.page
        rest = await evidence.evidence_of(db, [memory.id for memory in page.items])
    return Audit(
        topic=topic,
        service=service,
        beliefs=attach_evidence(page.items, rest),
        active=result.active,
        inactive=result.inactive,
        position=None if page.position is None else tuple(page.position),
    )
