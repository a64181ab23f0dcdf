"""The tool that saves knowledge; for a session of Lamplighter also operational memories."""

from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.knowledge import SavedKnowledge, SaveOutcome
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Category, Source
from lamplighter.domain.sessions.session import Session
from lamplighter.formats.tools.table import SaveKnowledge
from lamplighter.mcp.client_context import ClientContext, SpeakerContext
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.ingest.context import IngestContext, ingest_context
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

_MESSAGES: Final = {
    SaveOutcome.CREATED: "Saved: memory {id}.",
    SaveOutcome.UPDATED: (
        "Updated the memory with this topic key: memory {id}, revision {revision}."
    ),
    SaveOutcome.DEDUPLICATED: "Duplicate: memory {id} has the same text, saved {times} times.",
}


@implements(SaveKnowledge)
async def mem_save(place: SpeakerContext, arguments: SaveKnowledge) -> ToolOutput:
    """Save knowledge."""
    category, session = Category(arguments.type), place.speaker.session
    if session is not None and category in OPERATIONAL:
        return await _save_by_marker(place.context, session, arguments)
    candidate = Candidate(
        category=category,
        service=arguments.service,
        observation=arguments.content,
        tier=session.tier if session else 0,
        session_id=session.id if session else None,
        source=Source.CLIENT,
        source_ref=f"{place.speaker.known_as}, {SaveKnowledge.tool.name}",
        title=arguments.title,
        tags=arguments.tags,
        project=place.project(arguments),
        scope=arguments.scope,
        topic_key=arguments.topic_key,
        metadata=arguments.metadata,
    )
    kept = await place.knowledge.save(candidate, session_id=arguments.session_id)
    return _save_answer(kept)


def _save_answer(saved: SavedKnowledge) -> ToolOutput:
    memory = saved.memory
    text = _MESSAGES[saved.outcome].format(
        id=memory.id, revision=memory.revision_count, times=memory.duplicate_count
    )
    structured = {
        "outcome": saved.outcome.value,
        "id": memory.id,
        "title": memory.title,
        "project": memory.project,
        "scope": memory.scope,
        "topic_key": memory.topic_key,
        "revision_count": memory.revision_count,
        "duplicate_count": memory.duplicate_count,
    }
    return ToolOutput(text=text, structured=structured)


async def _save_by_marker(
    here: ClientContext, session: Session, arguments: SaveKnowledge
) -> ToolOutput:
    """Save the input of a session of Lamplighter like a printed marker."""
    ingest = await _ingest_context(here, session)
    return await tool_reports.save(ingest, arguments.type, arguments.service, arguments.content)


async def _ingest_context(here: ClientContext, session: Session) -> IngestContext:
    """Return the ingest context of a session; raises Conflict at its limit of markers."""
    existing = await sessions.get(here.db, session.id)
    assert existing is not None
    if existing.learned + existing.reinforced + existing.events >= here.active.max_markers:
        raise Conflict(f"This session reached its limit of {here.active.max_markers:,} reports.")
    return ingest_context(
        here, here.active, existing, here.services(), tool=SaveKnowledge.tool.name
    )
