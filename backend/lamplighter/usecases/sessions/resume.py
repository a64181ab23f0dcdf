"""Resuming: a session whose engine or supervisor died continues as the same session."""

from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.access import tokens
from lamplighter.repository.memory import exposures
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.sessions import sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.sessions.sessions import OpenedSession

MAX_RESUMES: Final = 3
"""The most resumes of one session; a session that dies again has failed."""

UNSETTLED_REASON: Final = "its supervisor ended before the result was known"


async def resume_session(
    db: Database, session: Session, why: str, *, epoch: int, now: datetime
) -> Session:
    """Resume a session under this leader, with an event; raises Conflict if it has ended.

    Under another leader than before, unsettled uses are abandoned, and the token of the session is
    revoked.
    """
    async with writing(db):
        if epoch != session.leader_epoch:
            await cooldowns.abandon(db, session.id, UNSETTLED_REASON, now=now)
            await tokens.revoke_for_session(db, session.id, now=now)
            await leases.update_status(db, session_id=session.id, now=now)
        resumed = await sessions.resume(db, session.id, epoch=epoch, now=now)
        if resumed is None:
            raise Conflict(f"Session {session.id} has already ended.")
        count = f"{resumed.resumed} of at most {MAX_RESUMES} times"
        text = f"Session {session.id} resumes ({count}): {why}"
        await events.insert_for(db, session, Level.WARNING, text, now=now)
        return resumed


async def reopen(
    db: Database, session: Session, services: Services, *, now: datetime
) -> OpenedSession:
    """Return a session that resumes, with its original prompt."""
    prompt = await exposures.prompt(db, session.id)
    if prompt is None:
        raise Conflict(f"Session {session.id} has no stored prompt.")
    handoff = None
    if session.parent_id is not None:
        state = EscalationState.TAKEN
        handoff = await chain.handoff_from(
            db, session.parent_id, services=services, state=state, now=now
        )
    return OpenedSession(session, prompt, (), handoff)
