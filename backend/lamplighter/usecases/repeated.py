"""What a model says twice: cut off, or asked again, it repeats its lines; they count once."""

from typing import Final

from lamplighter.domain.markers import Marker, What
from lamplighter.domain.service import GENERAL, ActionKind
from lamplighter.repository import marks
from lamplighter.usecases import act
from lamplighter.usecases.ingest import Ingest
from lamplighter.usecases.naming import spelled

SAID_BEFORE: Final = "said before in this session"


async def said_before(ingest: Ingest, marker: Marker, text: str) -> bool:
    """Whether a session of a model had a marker of these words taken already.

    Of an action that ran twice it may say the same twice.
    """
    session = ingest.session
    if not session.model or not await marks.said(ingest.db, session.id, text):
        return False
    if marker.what is not What.COOLDOWN:
        return True
    service = await spelled(ingest.db, marker.service, ingest.known) or GENERAL
    action = ActionKind(marker.category or "")
    return await act.unmarked(ingest.db, session, service, action) is None
