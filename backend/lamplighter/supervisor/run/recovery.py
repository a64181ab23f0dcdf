"""The remains of an ended supervisor: output to ingest, and sessions to end or to resume."""

import asyncio
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.actions.approval import SUPERVISOR_GONE
from lamplighter.domain.actions.halt import Halt
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.engines import process
from lamplighter.engines.cutting import PendingLines
from lamplighter.repository.sessions import sessions
from lamplighter.supervisor.run import follow, runner
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import OutputSummary
from lamplighter.supervisor.tools import gateway
from lamplighter.usecases.ingest import late_output, session_lines
from lamplighter.usecases.sessions import approvals, chain
from lamplighter.usecases.sessions.sessions import SessionEnd

_INGESTED_LATE: Final = "the session's output was ingested after its end"
INTERRUPTED: Final = (
    "The supervisor stopped while the session ran. The session's output was ingested."
)
CUT_OFF: Final = "The supervisor stopped while the session ran."


@dataclass(frozen=True, slots=True)
class RecoveredSessions:
    """The sessions of a dead supervisor: ended, or to be resumed."""

    ended: tuple[Session, ...]
    going_on: tuple[Session, ...]


async def recover(
    here: SessionContext, services: Services, former: Leader | None = None
) -> RecoveredSessions:
    """Ingest the remaining output of the sessions of a dead supervisor.

    Sessions that cannot be resumed are ended. Output in another home is left to that home.
    Processes that a `former` leader on this machine has started are ended, even if that leader only
    hangs.
    """
    await process.sweep()
    await asyncio.to_thread(gateway.remove_sockets, here.sockets)
    withdrawn = await approvals.withdraw_all(here.db, SUPERVISOR_GONE, now=here.now())
    waited = {each.session_id for each in withdrawn}
    halt = await here.halt_control.pulled(here.db)
    running = await sessions.running(here.db)
    await _end_engines(here, running, former)
    recovered = [
        await _recover_session(here, each, services, halt, each.id in waited) for each in running
    ]
    await ingest_pending(here, services)
    await chain.drop_stranded(here.db, now=here.now())
    await runner.clean_leftovers(here)
    return RecoveredSessions(
        tuple(each for each in recovered if not each.running),
        tuple(each for each in recovered if each.running),
    )


async def _end_engines(
    here: SessionContext, running: Sequence[Session], former: Leader | None
) -> None:
    """End the processes of a hanging leader on this machine; none of them may act now.

    Without a session here it may be on another machine, and its number that of another process.
    """
    if former is None or former.pid in (0, os.getpid()):
        return
    own: list[int | str] = [session.id for session in running if _is_here(here, session)]
    for what in [*own, process.PROGRAM] if own else []:
        await process.sweep(process.process_mark(what, former.pid))


async def ingest_pending(here: SessionContext, services: Services) -> None:
    """Ingest the output of this home's sessions that ended under another home's leader."""
    waiting = await sessions.pending_output(here.db, here.db.home.id) if here.db.home else []
    if waiting:
        await process.sweep()
    for session in waiting:
        with here.files.claimed(session) as ours:
            if ours:  # else still being written, or ingested by another process of this home
                await _complete(here, session.id, services)


async def _recover_session(
    here: SessionContext, session: Session, services: Services, halt: Halt | None, waited: bool
) -> Session:
    status = Status.STOPPED if halt else Status.INTERRUPTED
    if not _is_here(here, session):
        reason = late_output.pending(session, halt.description if halt else CUT_OFF)
        return await runner.end_session(
            here, session, SessionEnd(status=status, reason=reason, pending=True)
        )
    heard = await _ingest_rest(here, session, services) or OutputSummary()
    engine = here.engines.get(session.engine)
    if not (halt or waited) and await runner.can_resume(here, engine, session, heard):
        return session
    reason = halt.description if halt else follow.PARKED if waited else INTERRUPTED
    return await runner.end_session(here, session, heard.end(status=status, reason=reason))


async def _complete(here: SessionContext, number: int, services: Services) -> None:
    session = await sessions.get(here.db, number)
    if session is None or not session.output_pending:
        return
    heard = await _ingest_rest(here, session, services)
    summary = heard or OutputSummary()
    ending = summary.end(status=session.status, pending=heard is None)
    await late_output.complete(here, session, ending)
    await chain.drop(here.db, session, _INGESTED_LATE, now=here.now())
    await runner.clean_files(here, session)


def _is_here(here: SessionContext, session: Session) -> bool:
    """Whether the output of a session, if any, is in this home."""
    home = here.db.home
    return session.is_of(home.id if home else None) or here.files.path(session).exists()


async def _ingest_rest(
    here: SessionContext, session: Session, services: Services
) -> OutputSummary | None:
    """Ingest the rest of the output of a session; None if its file does not exist."""
    if not here.files.path(session).exists():
        return None
    ingest = follow.session_ingest(here, session, services)
    undecided = PendingLines()
    read = here.files.lines(session, session.log_offset)
    ready = (follow.complete_lines(session, undecided, lines) for lines in read)
    for lines in itertools.chain(ready, iter(undecided.rest, [])):
        await session_lines.ingest(ingest, lines, now=here.now())
    return await asyncio.to_thread(here.files.heard, session)
