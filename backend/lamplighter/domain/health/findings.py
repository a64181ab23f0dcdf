"""Findings: each figure of the memory's health against its goal, with the next step."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.health.figures import DRIFT_LIMIT, WINDOW, MemoryFigures
from lamplighter.domain.services.vitals import VitalStatus

UNDISTILLED: Final = 1_000
RATIO: Final = 1.0
LEAST_UNDISTILLED: Final = 100
"""With fewer undistilled memories the ratio is not judged."""
STALE_SHARE: Final = 0.25
DENSITY: Final = 0.05
LEAST_DUPLICATES: Final = 5
REVIEWS: Final = 20
EPISODES: Final = 500
UNVERIFIED: Final = 500
NEAR: Final = 0.8
"""A figure at this share of a limit or above is a warning."""


class HealthAction(StrEnum):
    """A person's possible action on a finding."""

    ORGANIZE = "organize"
    VERIFY = "verify"
    REVIEWS = "reviews"
    UNUSED = "unused"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFinding:
    """One figure, its goal as text, and an action if one is needed."""

    name: str
    state: VitalStatus
    value: float
    goal: str
    text: Annotated[str, Field(json="words")]
    action: HealthAction | None = None


def judge_figures(stats: MemoryFigures) -> list[HealthFinding]:
    """Judge each figure by its goal."""
    return [judge(stats) for judge in _JUDGES]


def worst_state(findings: list[HealthFinding]) -> VitalStatus:
    """Return failing if a goal of the memory is missed, else a warning or OK."""
    states = {each.state for each in findings}
    worst = (VitalStatus.FAILING, VitalStatus.WARNING)
    return next((each for each in worst if each in states), VitalStatus.OK)


def _undistilled(stats: MemoryFigures) -> HealthFinding:
    number = stats.undistilled
    return HealthFinding(
        name="undistilled",
        state=_grade(number, UNDISTILLED),
        value=number,
        goal=f"under {UNDISTILLED:,}",
        text=f"{_memories(number)} not distilled",
        action=_distill(stats),
    )


def _ratio(stats: MemoryFigures) -> HealthFinding:
    few = stats.undistilled < LEAST_UNDISTILLED
    return HealthFinding(
        name="ratio",
        state=VitalStatus.OK if few else _grade(stats.ratio, RATIO, at_limit=False),
        value=stats.ratio,
        goal=f"at most {RATIO:.0f}",
        text=f"{stats.ratio:,.2f} undistilled for each distilled memory ({stats.undistilled:,} to "
        f"{stats.distilled + stats.replaced:,}, replaced ones included)",
        action=_distill(stats),
    )


def _stale(stats: MemoryFigures) -> HealthFinding:
    share = stats.stale / stats.active if stats.active else 0.0
    were = "was" if stats.stale == 1 else "were"
    return HealthFinding(
        name="stale",
        state=_warn(share > STALE_SHARE),
        value=stats.stale,
        goal=f"at most {STALE_SHARE:.0%} of all memories",
        text=f"{stats.stale:,} of {_count(stats.active)} {were} not used for "
        f"{WINDOW.days} days ({share:.0%})",
        action=HealthAction.UNUSED if stats.stale else None,
    )


def _density(stats: MemoryFigures) -> HealthFinding:
    if not stats.compared:
        return HealthFinding(
            name="duplicates",
            state=VitalStatus.UNKNOWN if stats.undistilled + stats.distilled else VitalStatus.OK,
            value=0,
            goal=f"under {DENSITY:.0%}",
            text="Near-duplicates have not been counted yet",
        )
    few = stats.duplicates < LEAST_DUPLICATES
    repeat = "repeats" if 1 in (stats.duplicates, stats.compared) else "repeat"
    text = (
        f"{stats.duplicates:,} of {_count(stats.compared)} {repeat} another one "
        f"({stats.density:.1%}); the organizer can set aside {stats.removable:,}"
    )
    return HealthFinding(
        name="duplicates",
        state=VitalStatus.OK if few else _grade(stats.density, DENSITY),
        value=stats.density,
        goal=f"under {DENSITY:.0%}",
        text=text,
        action=HealthAction.ORGANIZE if stats.removable else None,
    )


def _drift(stats: MemoryFigures) -> HealthFinding:
    text = (
        f"{stats.drift} of 100: {_plural(stats.corrections, 'correction')}, "
        f"{_plural(stats.contradictions, 'contradiction')} and "
        f"{_plural(stats.agreements, 'agreement')} in {WINDOW.days} days"
    )
    if stats.queued:
        text += f"; {_memories(stats.queued)} queued to verify"
    action = HealthAction.REVIEWS if stats.reviews else HealthAction.VERIFY
    return HealthFinding(
        name="drift",
        state=_grade(stats.drift, DRIFT_LIMIT, at_limit=False),
        value=stats.drift,
        goal=f"at most {DRIFT_LIMIT}",
        text=text,
        action=action if stats.drift >= NEAR * DRIFT_LIMIT else None,
    )


def _reviews(stats: MemoryFigures) -> HealthFinding:
    text = f"{_plural(stats.reviews, 'review')} open"
    if stats.review_days:
        text += f", the oldest for {_plural(stats.review_days, 'day')}"
    return HealthFinding(
        name="reviews",
        state=_warn(stats.reviews >= REVIEWS),
        value=stats.reviews,
        goal=f"under {REVIEWS}",
        text=text,
        action=HealthAction.REVIEWS if stats.reviews else None,
    )


def _episodes(stats: MemoryFigures) -> HealthFinding:
    return HealthFinding(
        name="episodes",
        state=_warn(stats.episodes >= EPISODES),
        value=stats.episodes,
        goal=f"under {EPISODES}",
        text=f"{_plural(stats.episodes, 'old episode')} to compress; in {WINDOW.days} days the "
        f"organizer compressed {stats.compressed:,} and set aside "
        f"{_plural(stats.set_aside, 'duplicate')}",
        action=HealthAction.ORGANIZE if stats.episodes else None,
    )


def _unverified(stats: MemoryFigures) -> HealthFinding:
    due = stats.unverified + stats.marked
    return HealthFinding(
        name="unverified",
        state=_warn(due >= UNVERIFIED),
        value=due,
        goal=f"under {UNVERIFIED}",
        text=f"{_memories(due)} due for verification; {stats.verified:,} verified, "
        f"{stats.failed:,} failed",
        action=HealthAction.VERIFY if due else None,
    )


_JUDGES: Final[tuple[Callable[[MemoryFigures], HealthFinding], ...]] = (
    _undistilled,
    _ratio,
    _stale,
    _density,
    _drift,
    _reviews,
    _episodes,
    _unverified,
)


def _distill(stats: MemoryFigures) -> HealthAction | None:
    """Return the action that distills memories: the organizer, or a person who confirms them."""
    if stats.episodes or stats.removable:
        return HealthAction.ORGANIZE
    return HealthAction.UNVERIFIED if stats.undistilled else None


def _grade(value: float, limit: float, *, at_limit: bool = True) -> VitalStatus:
    """Grade a figure; `at_limit` is whether the limit itself misses the goal."""
    if value > limit or (at_limit and value == limit):
        return VitalStatus.FAILING
    return _warn(value >= NEAR * limit)


def _warn(bad: bool) -> VitalStatus:
    return VitalStatus.WARNING if bad else VitalStatus.OK


def _memories(number: int) -> str:
    return f"{number:,} {'memory is' if number == 1 else 'memories are'}"


def _count(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"
