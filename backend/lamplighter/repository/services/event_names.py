"""The names of services in events."""

from typing import Final

import sqlalchemy as sa

from lamplighter.domain.services.service import normalize_service_name
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import distinct_values
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import events

_SPELLING: Final = Statement(
    sa.select(events.c.service).where(events.c.service == sa.bindparam("service")).limit(1)
)
_SPELLINGS: Final = Statement(distinct_values(events.c.service))


async def spelling(db: Database, service: str) -> str | None:
    """Return the spelling of a service in the stored events, ignoring case."""
    if await db.fetch_val(_SPELLING(service=service)) is not None:
        return service
    names = [row["value"] for row in await db.fetch_all(_SPELLINGS())]
    return next(
        (name for name in names if normalize_service_name(name) == normalize_service_name(service)),
        None,
    )
