"""Actions: a use of a cooldown is reserved before anything runs, and settled afterwards."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.actions import policy, repairs
from lamplighter.domain.actions.policy import (
    Allowed,
    PolicyDecision,
    PolicyFacts,
    Refusal,
    RequestedAction,
)
from lamplighter.domain.errors import require
from lamplighter.domain.memory.memory import Category, Trust
from lamplighter.domain.services import cooldown
from lamplighter.domain.services.cooldown import (
    ATTEMPTS,
    CooldownStatus,
    CooldownUse,
    UseOutcome,
    uses_of,
)
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import (
    Action,
    ActionKind,
    Service,
    Services,
    is_same_service,
)
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import checks, cooldowns, events, incidents
from lamplighter.repository.sessions import escalations, halts, sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.access.recording import recording

MAX_USES: Final = 20
PAIR_WINDOW: Final = timedelta(minutes=30)
"""How long after the first attempt a second one is still part of the same use."""

MAX_MEMORIES: Final = 200
FLAP_WINDOW: Final = timedelta(hours=24)
FLAPPED_WITHIN: Final = timedelta(hours=1)
"""How long a service is not repaired after it failed and recovered by itself repeatedly."""


async def reserve(
    db: Database,
    session: Session,
    service: str,
    action: Action,
    *,
    again: int | None = None,
    agreed: bool = False,
    now: datetime,
) -> CooldownUse:
    """Reserve a slot for an action, or refuse it: the returned use says which, and why.

    The slot is used from this moment on, even if a process dies before the use is settled. `again`
    requests the second attempt of a use of this session; `agreed` means that a person has approved
    exactly this action, if its rule requires approval.
    """
    async with writing(db):
        pair = await _first_attempt(db, session, service, action, again, now)
        ruling = await rule_on_action(
            db, session, service, action, pair=pair, agreed=agreed, now=now
        )
        if pair and isinstance(ruling, Allowed):
            return await cooldowns.change(
                db,
                pair.id,
                outcome=UseOutcome.RESERVED,
                attempts=pair.attempts + 1,
                marked=False,
                did_not_last=False,
                settled_at=None,
                now=now,
            )
        if why_not := _refusal_reason(ruling):
            return await decline(db, session, service, action, why_not, now=now)
        return await cooldowns.insert(
            db,
            service,
            action.kind,
            UseOutcome.RESERVED,
            session_id=session.id,
            tier=session.tier,
            name=action.name,
            attempts=1,
            now=now,
        )


async def decline(
    db: Database, session: Session, service: str, action: Action, why: str, *, now: datetime
) -> CooldownUse:
    """Record that an action does not run, and why; no slot is used."""
    async with writing(db):
        outcome = refused_outcome(why)
        return await cooldowns.insert_settled(
            db, session, service, action.kind, outcome, name=action.name, text=why, now=now
        )


def refused_outcome(why: str) -> UseOutcome:
    """Return the outcome of an action that does not run, by the reason."""
    return UseOutcome.UNNEEDED if why == repairs.HEALTHY_AGAIN else UseOutcome.REFUSED


async def release(
    db: Database,
    session: Session,
    use: CooldownUse,
    why: str,
    *,
    first: CooldownUse | None = None,
    now: datetime,
) -> CooldownUse:
    """Record that a reserved action did not start, and why; its slot is free again.

    `first` is the use before this second attempt was reserved; it is restored.
    """
    async with writing(db):
        if first is None:
            values = {"outcome": refused_outcome(why), "text": why, "attempts": 0}
            return await cooldowns.change(db, use.id, **values, settled_at=now, now=now)
        await cooldowns.change(
            db,
            use.id,
            outcome=first.outcome,
            attempts=first.attempts,
            marked=first.marked,
            did_not_last=first.did_not_last,
            settled_at=first.settled_at,
            now=now,
        )
        outcome = refused_outcome(why)
        return await cooldowns.insert_settled(
            db, session, use.service, use.action, outcome, name=use.name, text=why, now=now
        )


async def settle(
    db: Database,
    use: CooldownUse,
    outcome: UseOutcome,
    *,
    text: str,
    healthy_after: float | None = None,
    now: datetime,
) -> CooldownUse:
    """Record the outcome of a reserved use; a success is one that a check confirmed."""
    found = {"outcome": outcome, "text": text, "healthy_after": healthy_after}
    async with writing(db):
        return await cooldowns.change(db, use.id, **found, settled_at=now, now=now)


async def abandon(db: Database, session: Session, why: str, *, now: datetime) -> None:
    """Settle the reserved uses of an interrupted session, and report each: its action may have run.

    To be called within `writing`.
    """
    for use in await cooldowns.abandon(db, session.id, why, now=now):
        text, service = use.report, use.service
        await events.insert_for(db, session, Level.WARNING, text, service=service, now=now)


async def record_dry_run(
    db: Database, session: Session, service: str, action: Action, text: str, *, now: datetime
) -> CooldownUse:
    """Record the result of a dry run; no slot is used."""
    async with writing(db):
        found = await rule_on_action(db, session, service, action, agreed=True, now=now)
        why_not = _refusal_reason(found)
        text = f"{action.name} would be refused: {why_not}" if why_not else text
        use = await cooldowns.insert_settled(
            db,
            session,
            service,
            action.kind,
            UseOutcome.WOULD,
            name=action.name,
            text=text,
            now=now,
        )
        await events.insert_for(
            db, session, Level.INFO, f"Dry run: {text}", service=service, now=now
        )
        return use


async def unmarked(
    db: Database, session: Session, service: str, action: ActionKind
) -> CooldownUse | None:
    """Return the newest use of a session's chain that no marker has annotated."""
    chain = [session, *await sessions.chain_members(db, [session])]
    return await cooldowns.unmarked(db, [each.id for each in chain], service, action)


async def reset_cooldowns(
    db: Database,
    service: str,
    action: ActionKind | None,
    *,
    services: Services,
    now: datetime,
) -> tuple[str, int]:
    """Reset the cooldowns of a service for an operator.

    Returns the service's name and how many uses were cleared; raises NotFound for a service that is
    not declared and has no recorded actions.
    """
    declared = services.find(service)
    async with recording(db, "reset", now=now, service=service) as act:
        name = require(
            declared.name if declared else await cooldowns.spelling(db, service),
            f"Service {service!r} not found in services.yaml, and it has no recorded actions.",
        )
        cleared = await cooldowns.clear(
            db, name, action, by=cooldowns.OPERATOR, now=now, act_id=act.id
        )
        act.did(rows=len(cleared))
        what = f"the cooldown of {action}" if action else "all cooldowns"
        await events.insert(
            db,
            Level.INFO,
            f"An operator reset {what}; uses cleared: {len(cleared)}.",
            service=name,
            source="operator",
            now=now,
        )
        return name, len(cleared)


async def rule_on_request(
    db: Database,
    session: Session,
    service: str,
    action: Action,
    *,
    again: int | None = None,
    agreed: bool = False,
    now: datetime,
) -> PolicyDecision:
    """Return whether a request to `reserve` may run now, or needs the approval of a person."""
    pair = await _first_attempt(db, session, service, action, again, now)
    return await rule_on_action(db, session, service, action, pair=pair, agreed=agreed, now=now)


async def rule_on_action(
    db: Database,
    session: Session,
    service: str,
    action: Action,
    *,
    pair: CooldownUse | None = None,
    agreed: bool = False,
    now: datetime,
) -> PolicyDecision:
    """Return whether an action may run now; `pair` is the use whose second attempt it is."""
    chosen = RequestedAction(Service(name=service), action)
    uses = uses_of(service, await cooldowns.spent(db, now=now))
    facts = replace(
        await session_facts(db, session),
        under_way=any(use.outcome is UseOutcome.RESERVED for use in uses),
        cooldown=cooldown.cooldown_status(service, action.kind, uses, now=now),
        second=pair is not None,
        agreed=agreed,
    )
    return policy.decide(chosen, facts, now=now)


async def session_facts(db: Database, session: Session) -> PolicyFacts:
    """Return whether a session may do anything now, apart from cooldowns."""
    leader, existing = await leases.get(db), await sessions.get(db, session.id)
    if existing is None:
        return PolicyFacts()
    epoch = leader.epoch if leader else None
    spent = existing.budget_usd is not None and (existing.cost_usd or 0) >= existing.budget_usd
    return PolicyFacts(
        alive=existing.running and not existing.stop_requested_at and epoch == session.leader_epoch,
        halted=await halts.is_halted(db),
        solvent=not spent,
    )


async def _first_attempt(
    db: Database, session: Session, service: str, action: Action, again: int | None, now: datetime
) -> CooldownUse | None:
    """Return the use whose second attempt is requested, if its first attempt is known to fail."""
    if again is None:
        return None
    recent = await cooldowns.recent(db, service, limit=MAX_USES)
    use = next((use for use in recent if use.id == again), None)
    if (
        use is None
        or not use.spent
        or use.attempts >= ATTEMPTS
        or now - use.created_at > PAIR_WINDOW
        or (use.session_id, use.name) != (session.id, action.name)
    ):
        return None
    earlier = [each for each in recent if each.id != again and each.action is action.kind]
    return use if await first_fails(db, service, earlier) else None


async def first_fails(db: Database, service: str, uses: Sequence[CooldownUse]) -> bool:
    """Whether a first attempt is known to fail: from earlier uses, or from a person's memory."""
    if cooldown.first_attempt_fails(uses):
        return True
    selection = MemoryFilter(active=True, service=service)
    held = await memories.page(db, selection, sort=Sort.CONFIDENCE, limit=MAX_MEMORIES)
    return any(
        each.category in (Category.BEHAVIOR, Category.REMEDIATION)
        and each.trust is Trust.TRUSTED  # session reports permit nothing
        and cooldown.claims_first_fails(each.observation)
        for each in held.items
    )


async def flapping_objection(
    db: Database, service: str, failing: Iterable[str], *, limit: int, now: datetime
) -> str:
    """Return why a service fails too often for another repair; empty if it does not.

    A service that repeatedly recovers by itself needs a person too. Failures before the last act of
    a person on the service do not count.
    """
    if not limit:
        return ""
    start = now - FLAP_WINDOW
    uses = [
        use
        for use in await cooldowns.uses_since(db, start)
        if is_same_service(use.service, service)
    ]
    resets = [use.cleared_at for use in uses if use.cleared_by == cooldowns.OPERATOR]
    handled = await escalations.handled_at(db, service)
    start = max([start, *filter(None, [*resets, handled])])
    recent = max(start, now - FLAPPED_WITHIN)
    if flapped := await incidents.last_flapping(db, service, start=recent):
        return f"it kept failing and recovering by itself at {flapped:%H:%M} UTC"
    repaired = [use for use in uses if use.outcome is UseOutcome.SUCCESS and use.created_at > start]
    if len(repaired) < limit - 1:
        return ""
    for name in failing:
        count = await checks.failures(db, service, name, start=start)
        if count >= limit:
            return f"{name} failed {count} times in 24 h although each repair worked"
    return ""


def _refusal_reason(found: PolicyDecision) -> str:
    """Return why nothing may run now; empty if it may."""
    match found:
        case Allowed():
            return ""
        case Refusal(why):
            return why
    return policy.APPROVAL_REQUIRED


def first_free_at(found: Sequence[CooldownStatus]) -> datetime | None:
    """Return when the next slot becomes free; None if one is free now."""
    if any(each.free for each in found):
        return None
    return min((each.frees_at for each in found if each.frees_at), default=None)
