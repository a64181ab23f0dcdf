"""What a round saw, what earlier rounds saw, and what is remembered."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.check import Check
from lamplighter.domain.cooldown import Use
from lamplighter.domain.handoff import Finding
from lamplighter.domain.service import Service, fold
from lamplighter.domain.text import same_words

STALE: Final = timedelta(days=7)
"""What is surely known is said again after this time."""

_FIGURES: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one attempt came to.

    `seen` is how the answer's body began, where that explains it; `printed` are
    the lines of a program that failed. `warning` says which threshold it came too
    near, though it passed. `answered` says whether the service answered at all;
    None where the check cannot tell.
    """

    ok: bool
    answered: bool | None = None
    detail: str = ""
    status: int | None = None
    seen: str = ""
    printed: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a check came to in this round.

    `detail` is why it failed, or why an attempt failed before one passed.
    `looks` are the statuses of a healthy answer, more than one when it was
    looked at again to learn what is usual.
    """

    check: Check
    ok: bool
    latency_ms: float
    status: int | None = None
    attempts: int = 1
    failed: int = 0
    detail: str = ""
    seen: str = ""
    printed: str = ""
    answered: bool | None = None
    warning: str = ""
    looks: tuple[int, ...] = ()

    @property
    def flapped(self) -> bool:
        """Say whether it failed and passed in the same round."""
        return self.ok and self.failed > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a check came to in an earlier round; `detail` is why it failed."""

    ok: bool
    at: datetime
    status: int | None = None
    latency_ms: float | None = None
    flapped: bool = False
    session: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A memory we hold."""

    id: int | str
    category: str
    observation: str
    confidence: float
    updated_at: datetime
    service: str | None = None
    trust: str = "observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known before the round, by service; the newest comes first.

    `history` is by "service/check". `waiting` tells since when a person was asked
    for a service, `parked` since when a session waits for approval to act on it,
    `needs` all that a service depends on, by whatever way.
    """

    now: datetime
    memories: Sequence[Held] = ()
    history: Mapping[str, Sequence[Past]] = field(default_factory=dict)
    uses: Mapping[str, Sequence[Use]] = field(default_factory=dict)
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    waiting: Mapping[str, datetime] = field(default_factory=dict)
    parked: Mapping[str, datetime] = field(default_factory=dict)
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def past(self, service: Service, check: Check) -> Sequence[Past]:
        """Return what a check came to in earlier rounds, the newest first."""
        return self.history.get(f"{service.name}/{check.name}", ())

    def unchanged(self, service: Service, outcomes: Sequence[Outcome], *, after: datetime) -> bool:
        """Whether each check came to the same in a round that was made since `after`."""
        return all(
            past and past[0].at > after and _fact(past[0]) == _fact(outcome)
            for outcome in outcomes
            for past in [self.past(service, outcome.check)]
        )

    def told_of(self, service: Service) -> Iterator[Held]:
        """Yield the memories of a service, in whatever case it was spelled."""
        name = fold(service.name)
        return (each for each in self.memories if each.service and fold(each.service) == name)

    def held(self, service: Service, words: str) -> Held | None:
        """Return the memory of a service that says these words."""
        same = same_words(words)
        return next(
            (each for each in self.told_of(service) if same_words(each.observation) == same), None
        )

    def worth_saying(self, service: Service, words: str) -> bool:
        """Say whether it is new, or saying it again would make it stronger."""
        held = self.held(service, words)
        return held is None or held.confidence < 1.0 or self.now - held.updated_at > STALE


def _fact(found: Outcome | Past) -> tuple[object, ...]:
    """Return what a check result states; why one passed, and figures such as times, may differ."""
    why = "" if found.ok else _FIGURES.sub("#", found.detail)
    return found.ok, found.flapped, found.status, why
