"""The policy: whether an action that a session requests may run. It never depends on a text.

The tier, services.yaml, the cooldowns, a person's approval, a halt and the spending limits
decide. An unknown fact counts as a refusal.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services import cooldown
from lamplighter.domain.services.cooldown import CooldownStatus
from lamplighter.domain.services.service import Action, ApprovalPolicy, Service, Services
from lamplighter.domain.text import one_line, shorten

REFUSALS: Final = 20
"""The policy refuses every further request after this many refusals."""

TOO_OFTEN: Final = "this session reached its limit of refused requests"
SESSION_OVER: Final = "its session has ended"
UNDER_WAY: Final = "another action on this service is running"
HALTED: Final = "Lamplighter is halted"
BUDGET_SPENT: Final = "the spending limit is reached"
APPROVAL_REQUIRED: Final = "a person must approve it first"
USAGE_UNKNOWN: Final = "the cooldown status is unknown"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The action may run now."""


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The action may run after a person approves it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The action may not run, and why."""

    why: str


PolicyDecision = Allowed | NeedsApproval | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPermissions:
    """The actions that a session may request; `scope` None means every service."""

    tier: int = 0
    services: Services = field(default_factory=Services)
    scope: tuple[str, ...] | None = ()
    refusals: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """The current facts; an unknown fact counts against the request.

    `second`: this is the second attempt of a use, which has its slot
    already. `agreed`: a person approved exactly this request, as the rule requires.
    """

    alive: bool = False
    halted: bool = True
    solvent: bool = False
    under_way: bool = True
    cooldown: CooldownStatus | None = None
    second: bool = False
    agreed: bool = False


@dataclass(frozen=True, slots=True)
class RequestedAction:
    """A declared action that a session may request, and its service."""

    service: Service
    action: Action


def resolve_action(
    service: str, action: str, reach: SessionPermissions
) -> RequestedAction | Refusal:
    """Return the declared action with these names, or why a session may not run it.

    The returned action carries the approval rule that applies to it.
    """
    if reach.refusals >= REFUSALS:
        return Refusal(TOO_OFTEN)
    if reach.tier != MAX_TIER:
        return Refusal(f"sessions of tier {reach.tier} may not run actions")
    target = reach.services.find(service)
    if target is None:
        return Refusal(f"{quote_name(service)} is not in services.yaml")
    if reach.scope is not None and target.name not in reach.scope:
        return Refusal(f"{target.name} is not in the scope of this session")
    for each in target.actions:
        if each.name == action:
            return RequestedAction(target, replace(each, approve=target.approval_of(each)))
    return Refusal(f"{target.name} has no action {quote_name(action)} in services.yaml")


def decide(chosen: RequestedAction, facts: PolicyFacts, *, now: datetime) -> PolicyDecision:
    """Decide whether an action may run now."""
    why_not = stop_reason(facts) or _limit_reason(chosen, facts, now=now)
    if why_not:
        return Refusal(why_not)
    rule = chosen.service.approval_of(chosen.action)
    return Allowed() if facts.agreed or rule is ApprovalPolicy.NEVER else NeedsApproval()


def stop_reason(facts: PolicyFacts) -> str:
    """Return why a session may run nothing now, not even a check; empty if it may."""
    if not facts.alive:
        return SESSION_OVER
    if facts.halted:
        return HALTED
    return "" if facts.solvent else BUDGET_SPENT


def _limit_reason(chosen: RequestedAction, facts: PolicyFacts, *, now: datetime) -> str:
    if facts.under_way:
        return UNDER_WAY
    if facts.second:
        return ""
    found = facts.cooldown
    if found is None or not found.of(chosen.service.name, chosen.action.kind):
        return USAGE_UNKNOWN
    return "" if found.free else cooldown.cooldown_refusal(found, now=now)


def quote_name(name: str) -> str:
    """Return a name from a session, quoted and shortened."""
    return repr(shorten(one_line(name), 80))
