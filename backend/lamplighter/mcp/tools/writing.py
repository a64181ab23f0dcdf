"""The tools that save, correct, confirm and withdraw knowledge, and those of a client's session."""

from typing import Final

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, NotFound, Unavailable
from lamplighter.domain.memory.knowledge import SavedKnowledge, SaveOutcome
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Category, Edit, Source
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import escape_markers, one_line
from lamplighter.formats.tools.table import (
    ConfirmKnowledge,
    CorrectKnowledge,
    EndClientSession,
    SaveKnowledge,
    StartClientSession,
    SummarizeClientSession,
    VerifyKnowledge,
    WithdrawKnowledge,
)
from lamplighter.mcp.client_context import ClientContext, SpeakerContext
from lamplighter.mcp.tools.rendering import line, session_values, values
from lamplighter.repository import reading, writing
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.ingest.context import IngestContext, ingest_context
from lamplighter.usecases.memory import curate, knowledge
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements
from lamplighter.usecases.verify.verify import result_as_json, verify_memories

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


_EVIDENCE = ("claim", "state", "source")
_FIELDS = ("title", "content", "type", "tags", "topic_key", "scope", "metadata")


@implements(CorrectKnowledge)
async def mem_update(place: SpeakerContext, arguments: CorrectKnowledge) -> ToolOutput:
    """Correct a memory."""
    here = place.context
    if all(getattr(arguments, name) is None for name in _FIELDS):
        raise Invalid(
            InvalidField("content", f"is missing; send at least one of {', '.join(_FIELDS)}")
        )
    edit = Edit(
        observation=arguments.content,
        title=arguments.title,
        category=Category(arguments.type) if arguments.type else None,
        tags=arguments.tags,
        topic_key=arguments.topic_key,
        scope=arguments.scope,
        metadata=arguments.metadata,
    )
    async with writing(here.db):
        project = place.project(arguments)
        before = await project_wall.get_changeable(here.db, place.speaker, project, arguments.id)
        memory = await knowledge.correct(
            here,
            before.id,
            edit,
            session_id=place.session_number,
            by=place.speaker.label,
        )
    words = "Corrected" if memory.version != before.version else "No change"
    return ToolOutput(text=f"{words}: {line(memory)}", structured=values(memory))


@implements(ConfirmKnowledge)
async def mem_confirm(place: SpeakerContext, arguments: ConfirmKnowledge) -> ToolOutput:
    """Confirm a memory that a user typed. Only a person confirms the output of a tool or a page."""
    here = place.context
    async with writing(here.db):
        project = place.project(arguments)
        memory = await project_wall.get_changeable(here.db, place.speaker, project, arguments.id)
        if memory.source is not Source.OWNER:
            raise Conflict(
                f"No user typed memory {memory.id} (source: {memory.source}). "
                "A person can confirm it in the app."
            )
        confirmed = await curate.confirm(here.db, memory.id, now=here.now(), by=place.speaker.label)
    words = "Confirmed" if confirmed.version != memory.version else "Already confirmed"
    return ToolOutput(text=f"{words}: {line(confirmed)}", structured=values(confirmed))


@implements(VerifyKnowledge)
async def mem_verify(place: SpeakerContext, arguments: VerifyKnowledge) -> ToolOutput:
    """Verify a memory. The contents of sources are for people: the answer only names them."""
    here = place.context
    if here.verification is None:
        raise Unavailable("This process cannot verify memories.")
    async with reading(here.db):
        project = place.project(arguments)
        memory = await project_wall.get_changeable(here.db, place.speaker, project, arguments.id)
    results = await verify_memories(here, here.verification.sources, [memory.id])
    if not results:
        raise NotFound(f"Memory {arguments.id} not found.")
    result = result_as_json(results[0])
    claims = [
        {key: escape_markers(one_line(each[key])) for key in _EVIDENCE}
        for each in result["evidence"]
    ]
    why = f" ({result['skipped']})" if result["skipped"] else ""
    lines = [f"{result['state'].capitalize()}{why}: {line(results[0].memory)}"]
    lines += [
        f"  {each['state']} by {each['source'] or 'no source'}: {each['claim']}" for each in claims
    ]
    lines += [f"Review {number} is open for a person." for number in result["reviews"]]
    shown = {key: result[key] for key in ("state", "skipped", "untested", "reviews", "verified_at")}
    return ToolOutput(
        text="\n".join(lines), structured={"id": memory.id, **shown, "evidence": claims}
    )


@implements(WithdrawKnowledge)
async def mem_delete(place: SpeakerContext, arguments: WithdrawKnowledge) -> ToolOutput:
    """Withdraw a memory: prompts no longer include it; a person may restore it."""
    here = place.context
    async with writing(here.db):
        project = place.project(arguments)
        memory = await project_wall.get_changeable(here.db, place.speaker, project, arguments.id)
        await knowledge.withdraw_memory(
            here.db,
            memory.id,
            now=here.now(),
            session_id=place.session_number,
            by=place.speaker.label,
        )
    words = f"Withdrawn: memory {memory.id}. A person can restore it in the app."
    return ToolOutput(text=words, structured={"id": memory.id, "deleted": True})


@implements(StartClientSession)
async def mem_session_start(place: SpeakerContext, arguments: StartClientSession) -> ToolOutput:
    """Begin a session."""
    session = await place.knowledge.start(
        place.project(arguments), arguments.session_id, arguments.directory
    )
    words = f"Session {session.external_id} of the project {session.project}: "
    running = "memories that you save now belong to it."
    words += running if session.running else "it has already ended."
    return _session_answer(session, words)


@implements(SummarizeClientSession)
async def mem_session_summary(
    place: SpeakerContext, arguments: SummarizeClientSession
) -> ToolOutput:
    """Store the summary of a session."""
    session = await place.knowledge.summarize(
        place.project(arguments), arguments.session_id, arguments.summary
    )
    return _session_answer(session, f"Saved the summary of session {session.external_id}.")


@implements(EndClientSession)
async def mem_session_end(place: SpeakerContext, arguments: EndClientSession) -> ToolOutput:
    """End a session."""
    session = await place.knowledge.end(
        place.project(arguments), arguments.session_id, arguments.summary
    )
    kept = "its summary is saved" if session.summary else "it has no summary"
    return _session_answer(session, f"Session {session.external_id} has ended; {kept}.")


def _session_answer(session: Session, words: str) -> ToolOutput:
    return ToolOutput(text=words, structured=session_values(session))
