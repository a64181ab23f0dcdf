"""The tools by which a client begins its session, sums it up, and ends it."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.sessions.session import Session
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import session_values
from lamplighter.usecases.sessions.toolbox import ToolFunction, ToolOutput


def mem_session_start(place: SpeakerContext) -> ToolFunction:
    """Return what begins a session."""

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        session = await place.knowledge.start(
            place.project(given), given.get("session_id", ""), given.get("directory")
        )
        words = f"Session {session.external_id} of the project {session.project}: "
        words += (
            ("memories that you save now belong to it.")
            if session.running
            else "it has already ended."
        )
        return _session_answer(session, words)

    return use


def mem_session_summary(place: SpeakerContext) -> ToolFunction:
    """Return what writes down what a session did."""

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        session = await place.knowledge.summarize(
            place.project(given), given.get("session_id"), given["summary"]
        )
        return _session_answer(session, f"Saved the summary of session {session.external_id}.")

    return use


def mem_session_end(place: SpeakerContext) -> ToolFunction:
    """Return what ends a session."""

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        session = await place.knowledge.end(
            place.project(given), given.get("session_id"), given.get("summary", "")
        )
        kept = "its summary is saved" if session.summary else "it has no summary"
        return _session_answer(session, f"Session {session.external_id} has ended; {kept}.")

    return use


def _session_answer(session: Session, words: str) -> ToolOutput:
    return ToolOutput(text=words, structured=session_values(session))
