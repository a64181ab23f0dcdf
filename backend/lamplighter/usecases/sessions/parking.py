"""Parking: the services in use by sessions that wait for approval, and the end of waiting."""

from datetime import UTC, datetime, timedelta

from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.sessions.session import CheckResult, Session
from lamplighter.repository import Database
from lamplighter.repository.services import checks
from lamplighter.repository.sessions import approvals, sessions
from lamplighter.usecases.services.incidents import closing


async def services_in_use(db: Database, *, but: int) -> dict[str, datetime]:
    """Return the services that earlier sessions are working on, folded, with the start of waiting.

    Services that their session has seen healthy are left out, and sessions that are being stopped.
    """
    parked: dict[str, datetime] = {}
    for session in await sessions.running(db):
        works = session.tier == MAX_TIER and session.stop_requested_at is None
        if session.id < but and works:
            asked = await approvals.of_session(db, session.id)
            since = min((each.created_at for each in asked), default=session.started_at)
            names = session.services or tuple(each.service for each in asked)
            healthy = await _healthy(db, session)
            parked |= {
                normalize_service_name(name): since
                for name in names
                if normalize_service_name(name) not in healthy
            }
    return parked


async def capacity_reason(db: Database, most: int, *, but: int | None = None) -> str:
    """Return why no further session may wait for a person; empty if another session may."""
    count = len((await approvals.waiting_sessions(db)).keys() - {but})
    words = f"too many sessions are waiting for approval ({count} of at most {most})"
    return words if count >= most else ""


async def withdraw_recovered(
    db: Database, service: str, results: list[CheckResult], *, now: datetime
) -> None:
    """Withdraw the approval requests for a service that a round has found healthy since."""
    since = min(
        (result.at for result in results if result.at and result.service == service), default=None
    )
    for each in await approvals.open_for_service(db, service):
        if since is not None and each.created_at <= since:
            await closing.withdraw(db, [each], closing.healthy_again(service), now=now)


async def time_waited(db: Database, session_id: int) -> timedelta:
    """Return how long a session has waited for people; overlapping times count once."""
    spans = [
        (each.created_at, each.decided_at or each.expires_at)
        for each in await approvals.of_session(db, session_id)
        if each.decided_at or each.state is ApprovalState.EXPIRED
    ]
    total, reached = timedelta(), datetime.min.replace(tzinfo=UTC)
    for begin, end in sorted(spans):
        total += max(timedelta(), end - max(begin, reached))
        reached = max(reached, end)
    return total


async def _healthy(db: Database, session: Session) -> set[str]:
    """Return the services that were healthy in a session's last results, folded."""
    newest = {
        (result.service, result.name): result for result in await checks.of_session(db, session.id)
    }
    failing = {
        normalize_service_name(result.service) for result in newest.values() if not result.ok
    }
    return {normalize_service_name(result.service) for result in newest.values()} - failing
