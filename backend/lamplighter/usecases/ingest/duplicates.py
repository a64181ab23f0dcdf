"""What a model says twice: cut off, or asked again, it repeats its lines; they count once."""

from typing import Final

from lamplighter.domain.services.service import GENERAL, ActionKind
from lamplighter.domain.sessions.markers import Marker, MarkerKind
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.sessions import marker_results
from lamplighter.usecases.ingest.context import IngestContext
from lamplighter.usecases.services import act

DUPLICATE_REASON: Final = "repeated in this session"


async def is_duplicate(ingest: IngestContext, marker: Marker, text: str) -> bool:
    """Whether a session of a model had a marker of these words taken already.

    Of an action that ran twice it may say the same twice.
    """
    session = ingest.session
    if not session.model or not await marker_results.was_ingested(ingest.db, session.id, text):
        return False
    if marker.what is not MarkerKind.COOLDOWN:
        return True
    service = await service_name(ingest.db, marker.service, ingest.services.names) or GENERAL
    action = ActionKind(marker.category or "")
    return await act.unmarked(ingest.db, session, service, action) is None
