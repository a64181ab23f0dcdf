"""Ignored markers, in code or in quotations, that a person accepts later."""

from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, Invalid, require
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.markers import MarkerReading, MarkerResult
from lamplighter.domain.text import shorten
from lamplighter.repository import writing
from lamplighter.repository.sessions import marker_results, sessions
from lamplighter.usecases.access.recording import record_act
from lamplighter.usecases.context import Context
from lamplighter.usecases.ingest.context import IngestResult, ingest_context
from lamplighter.usecases.ingest.marker_acts import apply_marker

TEXT_CHARS: Final = 300


async def ingest_ignored(
    here: Context, active: Configuration, mark_id: int, *, services: Services
) -> MarkerResult:
    """Accept a marker that was ignored; raises NotFound or Conflict."""
    db, now = here.db, here.now()
    async with writing(db):
        mark = require(await marker_results.get(db, mark_id), f"Marker {mark_id} not found.")
        session = await sessions.get(db, mark.session_id)
        marker = markers.reread_marker(mark.text)
        if mark.state is not MarkerReading.IGNORED or marker is None or session is None:
            raise Conflict(
                "Only a marker that was ignored in code or in a quotation can be accepted."
            )
        result = IngestResult()
        ingest = ingest_context(here, active, session, services)
        try:
            await apply_marker(ingest, marker, result, now=now)
        except Invalid as error:
            raise Conflict(f"The marker cannot be accepted: {error}") from error
        result.outcome.pop("why", None)
        about = result.outcome.get("memory_id")
        await record_act(db, "take", shorten(mark.text, TEXT_CHARS), memory_id=about, now=now)
        changed = await marker_results.accept_ignored(
            db, mark_id, now=now, reason="accepted by a person", **result.outcome
        )
        result.ignored = -1
        await sessions.add_counts(db, session.id, now=now, **result.counts)
        assert changed is not None
        return changed
