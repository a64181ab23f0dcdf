"""Cooldowns: the allowed number of actions on a service, and their current usage."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.services.service import ActionKind, is_same_service, normalize_service_name
from lamplighter.domain.text import format_time


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum number of uses within any window of this length."""

    uses: int
    window: timedelta


LIMITS: Final[Mapping[ActionKind, Limit]] = {
    ActionKind.RESTART: Limit(2, timedelta(hours=4)),
    ActionKind.REDEPLOYMENT: Limit(1, timedelta(hours=24)),
}
LONGEST_WINDOW: Final = max(limit.window for limit in LIMITS.values())
HEALTHY_ROUNDS: Final = 2
"""After this many consecutive healthy scheduled rounds all slots are free again."""

RESET_AFTER: Final = timedelta(minutes=30)
"""In addition, a service must be healthy for this long before all slots are free again."""

ATTEMPTS: Final = 2
"""A first attempt that is known to fail is repeated immediately: the pair is one use."""


MIN_OCCURRENCES: Final = 2
_FIRST: Final = r"first (?:re)?(?:start|deploy(?:ment)?|attempt|try)\b"
_FAILS: Final = (
    r"(?:fails?|crash(?:es)?|hangs?|times? out|does not (?:work|help|come up)"
    r"|never (?:works|helps|comes up))\b"
)
# in one clause: "the first restart fails", "crashes on its first start"
_FIRST_FAILS: Final = re.compile(
    rf"\b{_FIRST}(?: (?!never\b|no\b|not\b|works?\b|helps?\b)\w+){{0,4}} {_FAILS}"
    rf"|(?<!never )(?<!not )\b{_FAILS} (?:on|at) (?:the |its |a )?{_FIRST}",
    re.IGNORECASE,
)


class UseOutcome(StrEnum):
    """The outcome of a use; `refused`, `unneeded` and `would` (in a dry run) use no slot.

    An action that ran is a success when the checks that failed before pass again; until then, and
    without such a check, the outcome is `unconfirmed`.
    """

    RESERVED = "reserved"
    SUCCESS = "success"
    UNCONFIRMED = "unconfirmed"
    FAILURE = "failure"
    ABANDONED = "abandoned"
    REFUSED = "refused"
    WOULD = "would"
    UNNEEDED = "unneeded"


SPENDING_OUTCOMES: Final = (
    UseOutcome.RESERVED,
    UseOutcome.SUCCESS,
    UseOutcome.UNCONFIRMED,
    UseOutcome.FAILURE,
    UseOutcome.ABANDONED,
)


SESSION_ENDED: Final = "stopped at the end of its session"
HALTED_MEANWHILE: Final = "stopped by a halt"
DID_NOT_LAST: Final = "did not last"


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownUse:
    """One use of a kind of action on a service, reserved before it ran.

    `name` is the declared action, empty if a session acted by itself and reported this in a marker.
    `healthy_after` is the number of seconds until the service was healthy; `did_not_last` is
    whether its checks passed afterwards and soon failed again. `cleared_by` is `healthy` or
    `operator`: the use no longer counts.
    """

    id: int
    service: str
    action: ActionKind
    name: str = ""
    outcome: UseOutcome
    text: str = ""
    attempts: int = 0
    session_id: int | None = None
    tier: int = 0
    healthy_after: float | None = None
    created_at: datetime
    settled_at: datetime | None = None
    cleared_at: datetime | None = None
    cleared_by: Annotated[str | None, Field(options=("healthy", "operator"))] = None
    version: int = 1
    marked: Annotated[bool, Field(public=False)] = False
    did_not_last: Annotated[bool, Field(public=False)] = False

    @property
    def was_cut_off(self) -> bool:
        """Whether the action was stopped before its end, which is no evidence of its effect."""
        return SESSION_ENDED in self.text or HALTED_MEANWHILE in self.text

    @property
    def healthy_at(self) -> datetime:
        """Return when its service became healthy, if the action was a success."""
        return (self.settled_at or self.created_at) + timedelta(seconds=self.healthy_after or 0.0)

    @property
    def report(self) -> str:
        """Return the text of the event that reports its outcome."""
        action = self.action.capitalize()
        if self.outcome is UseOutcome.REFUSED:
            return f"{action} refused: {self.text.removesuffix('.')}."
        if self.outcome is UseOutcome.UNNEEDED:
            return f"{action} not needed: {self.text}."
        return f"{action} ({self.outcome}): {self.text}"

    @property
    def spent(self) -> bool:
        """Return whether it uses a slot that was not returned; an unsettled use counts too."""
        return self.outcome in SPENDING_OUTCOMES and self.cleared_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownStatus:
    """The current usage of a cooldown; `frees_at` is when the next slot is free."""

    service: str
    action: ActionKind
    used: int
    limit: Limit
    frees_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def free(self) -> bool:
        """Whether one more use is allowed now."""
        return self.used < self.limit.uses

    def of(self, service: str, action: ActionKind) -> bool:
        """Return whether the status belongs to this cooldown and its current limit."""
        same = is_same_service(self.service, service) and self.action is action
        return same and self.limit == LIMITS[action]


def cooldown_status(
    service: str, action: ActionKind, uses: Sequence[CooldownUse], *, now: datetime
) -> CooldownStatus:
    """Count the uses of a service's cooldown in its window.

    A use in the future counts: setting the clock back frees no slot.
    """
    limit = LIMITS[action]
    if not uses:
        return CooldownStatus(service=service, action=action, used=0, limit=limit)
    spent = [use for use in uses if use.action is action and use.spent]
    counted = sorted(use.created_at for use in spent if now - use.created_at < limit.window)
    frees_at = None
    if len(counted) >= limit.uses:
        frees_at = counted[len(counted) - limit.uses] + limit.window
    return CooldownStatus(
        service=service,
        action=action,
        used=len(counted),
        limit=limit,
        frees_at=frees_at,
        last_at=max((use.created_at for use in spent), default=None),
    )


def cooldown_refusal(found: CooldownStatus, *, now: datetime) -> str:
    """Return why another use is not allowed."""
    hours = found.limit.window // timedelta(hours=1)
    words = f"used {found.used} of {found.limit.uses} times in {hours} h"
    return f"{words}; next use at {format_time(found.frees_at, now)}" if found.frees_at else words


def describe_slots(status: CooldownStatus, *, now: datetime) -> str:
    """Describe the remaining slots, for a session."""
    left = max(0, status.limit.uses - status.used)
    words = f"{left} of {status.limit.uses} uses of {status.action} left"
    frees_at = status.frees_at
    return f"{words}, the next one at {format_time(frees_at, now)}" if frees_at else words


def first_attempt_fails(uses: Sequence[CooldownUse]) -> bool:
    """Whether a failed attempt was followed by a successful one the last two times.

    `uses` come newest first.
    """
    settled = [use for use in uses if use.outcome in (UseOutcome.SUCCESS, UseOutcome.FAILURE)]
    outcomes: list[bool] = []
    while settled and len(outcomes) < MIN_OCCURRENCES:
        use = settled.pop(0)
        helped = use.outcome is UseOutcome.SUCCESS
        if helped and use.attempts < ATTEMPTS and settled:
            helped = _led_to(settled[0], use)
            settled = settled[1:] if helped else settled
        elif use.attempts < ATTEMPTS:
            helped = False
        outcomes.append(helped)
    return outcomes == [True] * MIN_OCCURRENCES


def _led_to(before: CooldownUse, after: CooldownUse) -> bool:
    """Whether a failure was soon followed by a success; after months there is no connection."""
    soon = after.created_at - before.created_at <= LIMITS[after.action].window
    return before.outcome is UseOutcome.FAILURE and soon


def claims_first_fails(observation: str) -> bool:
    """Whether a memory states that a first attempt fails."""
    return bool(_FIRST_FAILS.search(observation))


def statuses_of(
    names: Sequence[str], uses: Sequence[CooldownUse], *, now: datetime
) -> dict[str, tuple[CooldownStatus, ...]]:
    """Return the usage of each cooldown of some services, from all uses that can count."""
    by_service: dict[str, list[CooldownUse]] = {}
    for use in uses:
        by_service.setdefault(normalize_service_name(use.service), []).append(use)
    own = {name: by_service.get(normalize_service_name(name), ()) for name in names}
    return {
        name: tuple(cooldown_status(name, action, own[name], now=now) for action in ActionKind)
        for name in names
    }


def uses_of(service: str, uses: Sequence[CooldownUse]) -> list[CooldownUse]:
    """Return a service's uses that can count; spelling of the name is normalized."""
    return [
        use
        for use in uses
        if is_same_service(use.service, service) and use.outcome in SPENDING_OUTCOMES
    ]
