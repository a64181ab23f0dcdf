"""One spelling for each service, whatever case a session writes it in."""

from collections.abc import Sequence

from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events


async def spelled(db: Database, service: str | None, services: Sequence[str]) -> str | None:
    """Return a service's name as services.yaml spells it, else as it was first written."""
    if service is None or normalize_service_name(service) == GENERAL:
        return None
    declared = next(
        (
            name
            for name in services
            if normalize_service_name(name) == normalize_service_name(service)
        ),
        None,
    )
    if declared:
        return declared
    return await memories.spelling(db, service) or await events.spelling(db, service) or service
