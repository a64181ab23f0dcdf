"""Late output: a session ended while its output was in an unreadable home."""

from typing import Final

from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import writing
from lamplighter.repository.services import events
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import session_outcomes
from lamplighter.usecases.sessions.sessions import SessionEnd, texts_of, usage_of

PENDING: Final = " Its output is on {}, not ingested yet."
INGESTED: Final = " Its output was ingested from {}."
MISSING: Final = " Its output was not found on {}."


def pending(session: Session, reason: str) -> str:
    """Add the host of the pending output to the reason of an end."""
    return reason + PENDING.format(session.host)


async def complete(here: Context, session: Session, ending: SessionEnd) -> None:
    """Store the output that was ingested late, or record that it is missing (`pending`)."""
    db, now = here.db, here.now()
    result = MISSING if ending.pending else INGESTED
    reason = session.reason.removesuffix(PENDING.format(session.host))
    texts = texts_of(session, ending, here.redact) | usage_of(session, ending)
    found = {} if ending.pending else texts
    what = "was not found on" if ending.pending else "was ingested from"
    async with writing(db):
        done = await sessions.complete_output(
            db, session.id, reason=reason + result.format(session.host), **found, now=now
        )
        if done is not None:
            await session_outcomes.refresh(db, [session.id], now=now)
            level = Level.WARNING if ending.pending else Level.INFO
            text = f"Output of session {session.id} {what} {session.host}."
            await events.insert_for(db, session, level, text, now=now)
