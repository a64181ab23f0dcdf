"""What happened since a moment, as a condition on the numbers of rows."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.search import Layer
from lamplighter.repository.tables import events, memories, sessions

_MOMENTS: Final = {
    Layer.MEMORY: (memories.c.id, memories.c.updated_at),
    Layer.SESSION: (sessions.c.id, sessions.c.started_at),
    Layer.EVENT: (events.c.id, events.c.created_at),
}


def since(layer: Layer, at: datetime) -> Callable[[Any], sa.ColumnElement[bool]]:
    """Return what is true of the number of a row that is of a moment or later."""
    number, moment = _MOMENTS[layer]
    later = sa.select(number).where(moment >= at)
    return lambda each: each.in_(later)
