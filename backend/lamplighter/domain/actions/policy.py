"""The policy: whether what a session wishes may run. It is computed, never read from a text.

The tier, services.yaml, the cooldowns, a person's approval, a halt and the money
decide. A fact that is not known is a no.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.services import cooldown
from lamplighter.domain.services.cooldown import Standing
from lamplighter.domain.services.service import Action, Approve, Service, Services
from lamplighter.domain.sessions.session import MAX_TIER
from lamplighter.domain.text import one_line, shortened

REFUSALS: Final = 20
"""A session that insists is not heard any more."""

TOO_OFTEN: Final = "this session was refused too often"
OVER: Final = "its session is over"
UNDER_WAY: Final = "another action on it is under way"
HALTED: Final = "everything is halted"
SPENT: Final = "the money of this session is used up"
ASK: Final = "a person has to agree first"
UNKNOWN: Final = "what was used of its cooldown is not known"


@dataclass(frozen=True, slots=True)
class Allowed:
    """It may run now."""


@dataclass(frozen=True, slots=True)
class Ask:
    """It may run when a person agrees."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It may not run, and why."""

    why: str


Ruling = Allowed | Ask | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a session may wish for at all; `scope` None means every service."""

    tier: int = 0
    services: Services = field(default_factory=Services)
    scope: tuple[str, ...] | None = ()
    refusals: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """How things stand now; what nobody established counts against the wish.

    `second` says that it is the second attempt of a use: its slot is taken
    already. `agreed` says that a person agreed to exactly this, as the rule asks.
    """

    alive: bool = False
    halted: bool = True
    solvent: bool = False
    under_way: bool = True
    standing: Standing | None = None
    second: bool = False
    agreed: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """A declared action that a session may wish for, and the service it is of."""

    service: Service
    action: Action


def choose(service: str, action: str, reach: Reach) -> Chosen | Refused:
    """Return what services.yaml declares by these names, or why a session may not have it.

    The action says itself whether a person is asked before it.
    """
    if reach.refusals >= REFUSALS:
        return Refused(TOO_OFTEN)
    if reach.tier != MAX_TIER:
        return Refused(f"tier {reach.tier} changes nothing")
    found = reach.services.find(service)
    if found is None:
        return Refused(f"{quoted(service)} is not in services.yaml")
    if reach.scope is not None and found.name not in reach.scope:
        return Refused(f"{found.name} was not handed to this session")
    for each in found.actions:
        if each.name == action:
            return Chosen(found, replace(each, approve=found.approval_of(each)))
    return Refused(f"{found.name} declares no action {quoted(action)}")


def decide(chosen: Chosen, facts: Facts, *, now: datetime) -> Ruling:
    """Say whether an action may run now."""
    why_not = stopped(facts) or _used_up(chosen, facts, now=now)
    if why_not:
        return Refused(why_not)
    rule = chosen.service.approval_of(chosen.action)
    return Allowed() if facts.agreed or rule is Approve.NEVER else Ask()


def stopped(facts: Facts) -> str:
    """Say why a session may do nothing now, not even look; empty when it may."""
    if not facts.alive:
        return OVER
    if facts.halted:
        return HALTED
    return "" if facts.solvent else SPENT


def _used_up(chosen: Chosen, facts: Facts, *, now: datetime) -> str:
    if facts.under_way:
        return UNDER_WAY
    if facts.second:
        return ""
    found = facts.standing
    if found is None or not found.of(chosen.service.name, chosen.action.kind):
        return UNKNOWN
    return "" if found.free else cooldown.refusal(found, now=now)


def quoted(name: str) -> str:
    """Return a name that a session gave as a person may read it."""
    return repr(shortened(one_line(name), 80))
