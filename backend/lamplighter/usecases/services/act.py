"""Act: a use of a cooldown is reserved before anything runs, and settled afterwards."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.actions import policy, repairs
from lamplighter.domain.actions.policy import Allowed, Chosen, Facts, Refused, Ruling
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Category, Trust
from lamplighter.domain.services import cooldown
from lamplighter.domain.services.cooldown import ATTEMPTS, LIMITS, SPENT, Outcome, Standing, Use
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Action, ActionKind, Service, Services, fold
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import Filter, Sort
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.sessions import halts, sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.access.recording import recording

USES_LOOKED_AT: Final = 20
AT_ONCE: Final = timedelta(minutes=30)
"""How long after the first one a second attempt is still part of the same use."""

MEMORIES_LOOKED_AT: Final = 200
LONGEST_WINDOW: Final = max(limit.window for limit in LIMITS.values())


async def reserve(
    db: Database,
    session: Session,
    service: str,
    action: Action,
    *,
    again: int | None = None,
    agreed: bool = False,
    now: datetime,
) -> Use:
    """Reserve a slot for an action, or refuse it: the use that comes back says which, and why.

    The slot is used from this moment on, whatever dies before it is settled.
    `again` asks for the second attempt of a use of this session; `agreed` says
    that a person agreed to exactly this, as the rule of the action asks.
    """
    async with writing(db):
        pair = await _pair(db, session, service, action, again, now)
        found = await ruling(db, session, service, action, pair=pair, agreed=agreed, now=now)
        if pair and isinstance(found, Allowed):
            return await cooldowns.change(
                db,
                pair.id,
                outcome=Outcome.RESERVED,
                attempts=pair.attempts + 1,
                marked=False,
                settled_at=None,
                now=now,
            )
        if why_not := _why_not(found):
            return await decline(db, session, service, action, why_not, now=now)
        return await cooldowns.insert(
            db,
            service,
            action.kind,
            Outcome.RESERVED,
            session_id=session.id,
            tier=session.tier,
            name=action.name,
            attempts=1,
            now=now,
        )


async def decline(
    db: Database, session: Session, service: str, action: Action, why: str, *, now: datetime
) -> Use:
    """Record that an action does not run, and why; no slot is used."""
    async with writing(db):
        outcome = Outcome.UNNEEDED if why == repairs.HEALTHY_AGAIN else Outcome.REFUSED
        return await cooldowns.settled(
            db, session, service, action.kind, outcome, name=action.name, text=why, now=now
        )


async def settle(
    db: Database,
    use: Use,
    outcome: Outcome,
    *,
    text: str,
    healthy_after: float | None = None,
    now: datetime,
) -> Use:
    """Record what became of a reserved use; a success is one that a check confirmed."""
    found = {"outcome": outcome, "text": text, "healthy_after": healthy_after}
    async with writing(db):
        return await cooldowns.change(db, use.id, **found, settled_at=now, now=now)


async def would(
    db: Database, session: Session, service: str, action: Action, text: str, *, now: datetime
) -> Use:
    """Record what a dry run would have done; no slot is used."""
    async with writing(db):
        found = await ruling(db, session, service, action, agreed=True, now=now)
        why_not = _why_not(found)
        text = f"{action.name} would be refused: {why_not}" if why_not else text
        use = await cooldowns.settled(
            db, session, service, action.kind, Outcome.WOULD, name=action.name, text=text, now=now
        )
        await events.insert(
            db,
            Level.INFO,
            f"Dry run: {text}",
            service=service,
            session_id=session.id,
            tier=session.tier,
            source="supervisor",
            now=now,
        )
        return use


async def unmarked(db: Database, session: Session, service: str, action: ActionKind) -> Use | None:
    """Return the newest use of a session's chain that no marker has annotated."""
    chain = [session, *await sessions.linked(db, [session])]
    return await cooldowns.unmarked(db, [each.id for each in chain], service, action)


async def reset(
    db: Database,
    service: str,
    action: ActionKind | None,
    *,
    services: Services,
    now: datetime,
) -> tuple[str, int]:
    """Give a service its slots back because an operator says so.

    Returns the service's name and how many uses were cleared; raises NotFound
    for a service that is not declared and was never acted upon.
    """
    declared = services.find(service)
    async with recording(db, "reset", now=now, service=service) as act:
        name = declared.name if declared else await cooldowns.spelling(db, service)
        if name is None:
            raise NotFound(f"There is no service {service!r} and nothing was done to one.")
        cleared = await cooldowns.clear(
            db, name, action, by=cooldowns.OPERATOR, now=now, act_id=act.id
        )
        act.did(rows=len(cleared))
        what = f"the cooldown of {action}" if action else "all its cooldowns"
        await events.insert(
            db,
            Level.INFO,
            f"An operator reset {what}; {len(cleared)} used before.",
            service=name,
            source="operator",
            now=now,
        )
        return name, len(cleared)


async def standings(
    db: Database, names: Sequence[str], *, now: datetime
) -> dict[str, tuple[Standing, ...]]:
    """Return how much of each cooldown of some services is used, by service."""
    uses = await cooldowns.spent_since(db, now - LONGEST_WINDOW)
    return {
        name: tuple(
            cooldown.standing(name, action, _of(name, uses), now=now) for action in ActionKind
        )
        for name in names
    }


async def wished(
    db: Database,
    session: Session,
    service: str,
    action: Action,
    *,
    again: int | None = None,
    agreed: bool = False,
    now: datetime,
) -> Ruling:
    """Say whether what `reserve` is asked for may run now, or when a person agrees."""
    pair = await _pair(db, session, service, action, again, now)
    return await ruling(db, session, service, action, pair=pair, agreed=agreed, now=now)


async def ruling(
    db: Database,
    session: Session,
    service: str,
    action: Action,
    *,
    pair: Use | None = None,
    agreed: bool = False,
    now: datetime,
) -> Ruling:
    """Say whether an action may run now; `pair` is the use that it is the second attempt of."""
    chosen = Chosen(Service(name=service), action)
    uses = _of(service, await cooldowns.spent_since(db, now - LONGEST_WINDOW))
    facts = replace(
        await standing_of(db, session),
        under_way=_under_way(session, uses),
        standing=cooldown.standing(service, action.kind, uses, now=now),
        second=pair is not None,
        agreed=agreed,
    )
    return policy.decide(chosen, facts, now=now)


async def standing_of(db: Database, session: Session) -> Facts:
    """Return whether a session may do anything now; of a cooldown it says nothing."""
    leader, held = await leases.get(db), await sessions.get(db, session.id)
    if held is None:
        return Facts()
    epoch = leader.epoch if leader else None
    spent = held.budget_usd is not None and (held.cost_usd or 0) >= held.budget_usd
    return Facts(
        alive=held.running and not held.stop_requested_at and epoch == session.leader_epoch,
        halted=await halts.any_standing(db),
        solvent=not spent,
    )


async def _pair(
    db: Database, session: Session, service: str, action: Action, again: int | None, now: datetime
) -> Use | None:
    """Return the use whose second attempt is asked for, where a first one is known to fail."""
    if again is None:
        return None
    recent = await cooldowns.recent(db, service, limit=USES_LOOKED_AT)
    use = next((use for use in recent if use.id == again), None)
    if (
        use is None
        or not use.spent
        or use.attempts >= ATTEMPTS
        or now - use.created_at > AT_ONCE
        or (use.session_id, use.name) != (session.id, action.name)
    ):
        return None
    earlier = [each for each in recent if each.id != again and each.action is action.kind]
    return use if await first_fails(db, service, earlier) else None


async def first_fails(db: Database, service: str, uses: Sequence[Use]) -> bool:
    """Whether it is known that a first attempt fails: by what was done, or by a person."""
    if cooldown.fails_first(uses):
        return True
    wanted = Filter(active=True, service=service)
    held = await memories.page(db, wanted, sort=Sort.CONFIDENCE, limit=MEMORIES_LOOKED_AT)
    return any(
        each.category in (Category.BEHAVIOR, Category.REMEDIATION)
        and each.trust is Trust.TRUSTED  # what a session says permits nothing
        and cooldown.says_first_fails(each.observation)
        for each in held.items
    )


def _why_not(found: Ruling) -> str:
    """Say why nothing may run now; empty when it may."""
    match found:
        case Allowed():
            return ""
        case Refused(why):
            return why
    return policy.ASK


def _under_way(session: Session, uses: Sequence[Use]) -> bool:
    return any(use.outcome is Outcome.RESERVED and use.session_id == session.id for use in uses)


def _of(service: str, uses: Sequence[Use]) -> list[Use]:
    """Return a service's uses, in whatever case it was spelled when they were made."""
    return [use for use in uses if fold(use.service) == fold(service) and use.outcome in SPENT]


def quiet_from(found: Sequence[Standing]) -> datetime | None:
    """Return when the first slot is free again; None when one is free now."""
    if any(each.free for each in found):
        return None
    return min((each.frees_at for each in found if each.frees_at), default=None)
