"""The tools that correct and withdraw knowledge."""

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, NotFound, Unavailable
from lamplighter.domain.memory.memory import Category, Edit, Source
from lamplighter.domain.text import escape_markers, one_line
from lamplighter.formats.tools.table import (
    ConfirmKnowledge,
    CorrectKnowledge,
    VerifyKnowledge,
    WithdrawKnowledge,
)
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import line, values
from lamplighter.repository import reading, writing
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.memory import curate, knowledge
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements
from lamplighter.usecases.verify.verify import result_as_json, verify_memories

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
