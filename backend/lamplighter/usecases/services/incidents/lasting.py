"""Lasting repairs: a repair whose service soon fails again has failed, and is not repeated."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from lamplighter.domain.services.cooldown import DID_NOT_LAST, CooldownUse, UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import EntryKind, Incident, fails_after, is_member
from lamplighter.domain.services.series import CheckSeries, PointState
from lamplighter.domain.services.service import Service, Services, normalize_service_name
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import Database
from lamplighter.repository.services import checks, cooldowns, events, incidents, series
from lamplighter.usecases.services import session_outcomes
from lamplighter.usecases.services.incidents.advise import advice_on

WHY_CHARS: Final = 200
POINTS_READ: Final = 20
"""The most results to read before a failure, more than a repair needs to last."""

MAY_FAIL_AGAIN: Final = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED)
PASSED: Final = (PointState.PASSED, PointState.WARNED)


async def note_failed_again(
    db: Database,
    uses: Sequence[tuple[int, CooldownUse]],
    failing: Mapping[str, Sequence[CheckSeries]],
    services: Services,
    *,
    now: datetime,
) -> list[tuple[int, CooldownUse]]:
    """Turn successful uses whose services fail again into failures; return all uses, updated.

    `uses` are the actions for the open incidents, each with its incident.
    """
    found = []
    for number, use in uses:
        after = await _fails_after(db, use, failing, services)
        found.append((number, await _fail(db, number, use, after, now=now) if after else use))
    return found


async def refused_actions(
    db: Database, service: Service, evidence: str, *, now: datetime
) -> dict[str, str]:
    """Return the actions that are known not to help against this failure, with the reasons.

    An action that did not last in the open incident of the service is not repeated there.
    """
    found = await advice_on(db, service, evidence, now=now)
    known = {name: str(each) for name, each in found.useless.items()}
    return known | await _not_lasting(db, service.name, now=now)


async def lost_need(
    db: Database, services: Services, service: Service, *, now: datetime
) -> tuple[str, str]:
    """Return the dependency of a failing service whose repair did not last, and why; else empty.

    Actions on the service itself do not help then, even while its dependency passes for a moment,
    until the dependency has recovered.
    """
    live = await incidents.live(db)
    found = await incidents.members(db, [each.id for each in live])
    ill = {each.service for some in found.values() for each in some if not each.recovered_at}
    for need in services.with_needs([service]):
        if need is service or need.name not in ill:
            continue
        if lost := await _not_lasting(db, need.name, now=now):
            return need.name, "; ".join(lost.values())
    return "", ""


async def _not_lasting(db: Database, service: str, *, now: datetime) -> dict[str, str]:
    """Return the actions that did not last in the open incident of a service, with the reasons.

    A later deployment or configuration change permits another try.
    """
    last = await events.last_change(db, [service], until=now)
    changed = last.created_at if last else None
    live = [each.id for each in await incidents.live(db) if is_member(each, service)]
    folded = normalize_service_name(service)
    return {
        use.name: f"{use.name} of {service} {DID_NOT_LAST}{use.text.rpartition(DID_NOT_LAST)[2]}"
        for _, use in await cooldowns.of_incidents(db, live)
        if use.did_not_last
        and normalize_service_name(use.service) == folded
        and (changed is None or use.created_at > changed)
    }


def calls_again(incident: Incident, uses: Sequence[tuple[int, CooldownUse]]) -> bool:
    """Whether a repair of an incident did not last since the start of its last investigation."""
    asked = incident.requested_at
    return any(
        use.did_not_last and (asked is None or use.created_at >= asked)
        for number, use in uses
        if number == incident.id
    )


async def _fails_after(
    db: Database,
    use: CooldownUse,
    failing: Mapping[str, Sequence[CheckSeries]],
    services: Services,
) -> CheckSeries | None:
    """Return the check that shows that a repair did not last."""
    service = services.find(use.service)
    if service is None or use.outcome not in MAY_FAIL_AGAIN:
        return None
    declared = {each.name: each for each in service.checks}
    for each in failing.get(service.name, ()):
        ended, since = each.checked_at, each.changed_at
        if each.check not in declared or ended is None or since is None or ended <= use.healthy_at:
            continue
        found = await series.points(db, each.id, start=use.healthy_at, end=since, limit=POINTS_READ)
        passed = [one for one in found if one.state in PASSED]
        if use.outcome is UseOutcome.UNCONFIRMED and not passed:
            continue  # never passed after the action: not a repair
        seen = not passed and await _saw_it_pass(db, use, service, each)
        if fails_after(use, each, declared[each.check], passed, observed=seen):
            return each
    return None


async def _saw_it_pass(db: Database, use: CooldownUse, service: Service, each: CheckSeries) -> bool:
    """Whether the session of an action saw a check pass after it."""
    if use.session_id is None:
        return False
    return any(
        one.ok and one.name == each.check and one.at is not None and one.at >= use.created_at
        for one in await checks.of_session(db, use.session_id, [service.name])
    )


async def _fail(
    db: Database, number: int, use: CooldownUse, after: CheckSeries, *, now: datetime
) -> CooldownUse:
    why = shorten(f"{after.check}: {one_line(after.detail) or 'failed'}", WHY_CHARS)
    text = f"{use.text}, but {DID_NOT_LAST}: {why}" if use.text else f"{DID_NOT_LAST}: {why}"
    failed = await cooldowns.change(
        db,
        use.id,
        outcome=UseOutcome.FAILURE,
        healthy_after=None,
        did_not_last=True,
        text=text,
        now=now,
    )
    entry_text = f"{(use.name or use.action).capitalize()} {DID_NOT_LAST}: {why}"
    await incidents.add_entry(
        db, number, EntryKind.FAILED_AGAIN, entry_text, service=use.service, now=now
    )
    await events.insert(
        db,
        Level.WARNING,
        entry_text,
        service=use.service,
        session_id=use.session_id,
        tier=use.tier,
        now=now,
    )
    if use.session_id is not None:
        await session_outcomes.refresh(db, [use.session_id], now=now)
    return failed
