"""The tools that correct knowledge and take it back."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.memory.memory import Category, Edit
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import line, values
from lamplighter.repository import writing
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.sessions.toolbox import ToolFunction, ToolOutput

_FIELDS = ("title", "content", "type", "tags", "topic_key", "scope")


def mem_update(place: SpeakerContext) -> ToolFunction:
    """Return what corrects a memory."""
    here = place.context

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        if not any(name in given for name in _FIELDS):
            raise Invalid(
                InvalidField("content", f"is missing; send at least one of {', '.join(_FIELDS)}")
            )
        edit = Edit(
            observation=given.get("content"),
            title=given.get("title"),
            category=Category(given["type"]) if "type" in given else None,
            tags=tuple(given["tags"]) if "tags" in given else None,
            topic_key=given.get("topic_key"),
            scope=given.get("scope"),
        )
        async with writing(here.db):
            project = place.project(given)
            before = await project_wall.get_changeable(here.db, place.speaker, project, given["id"])
            memory = await knowledge.correct(
                here,
                before.id,
                edit,
                session_id=place.session_number,
                by=place.speaker.label,
            )
        words = "Corrected" if memory.version != before.version else "No change"
        return ToolOutput(text=f"{words}: {line(memory)}", structured=values(memory))

    return use


def mem_delete(place: SpeakerContext) -> ToolFunction:
    """Return what takes a memory back: nobody is told it any more, a person may restore it."""
    here = place.context

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        async with writing(here.db):
            project = place.project(given)
            memory = await project_wall.get_changeable(here.db, place.speaker, project, given["id"])
            await knowledge.withdraw_memory(
                here.db,
                memory.id,
                now=here.now(),
                session_id=place.session_number,
                by=place.speaker.label,
            )
        words = f"Withdrawn: memory {memory.id}. A person can restore it in the app."
        return ToolOutput(text=words, structured={"id": memory.id, "deleted": True})

    return use
