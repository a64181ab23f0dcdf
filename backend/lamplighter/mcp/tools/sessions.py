"""The tools by which a client begins its session, sums it up, and ends it."""

from lamplighter.domain.sessions.session import Session
from lamplighter.formats.tools.table import (
    EndClientSession,
    StartClientSession,
    SummarizeClientSession,
)
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import session_values
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements


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
