"""What a model says twice: cut off, or asked again, it repeats its lines; they count once."""

from typing import Final

from lamplighter.domain.services.service import GENERAL, ActionKind
from lamplighter.domain.sessions.markers import Marker, What
from lamplighter.repository.sessions import marker_results
from lamplighter.usecases.ingest.context import Ingest
from lamplighter.usecases.memory.service_names import spelled
from lamplighter.usecases.services import act

SAID_BEFORE: Final = "said before in this session"


async def said_before(ingest: Ingest, marker: Marker, text: str) -> bool:
    """Whether a session of a model had a marker of these words taken already.

    Of an action that ran twice it may say the same twice.
    """
    session = ingest.session
    if not session.model or not await marker_results.said(ingest.db, session.id, text):
        return False
    if marker.what is not What.COOLDOWN:
        return True
    service = await spelled(ingest.db, marker.service, ingest.known) or GENERAL
    action = ActionKind(marker.category or "")
    return await act.unmarked(ingest.db, session, service, action) is None
