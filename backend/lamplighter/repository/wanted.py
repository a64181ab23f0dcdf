"""Which memories are asked for, and what is true of them in SQL."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.decay import GRACE, WEEK, WEEKLY_DECAY
from lamplighter.domain.memory import (
    ACTIVE_THRESHOLD,
    GENERAL,
    OPERATIONAL,
    Category,
    InactiveReason,
    Kind,
)
from lamplighter.repository.columns import NUMBER
from lamplighter.repository.tables import exposures, history, reviews
from lamplighter.repository.words import Seconds

_CENTS: Final = 100
_NOBODY: Final[sa.ColumnElement[int]] = sa.literal_column("0")  # as the index by source has it


class View(StrEnum):
    """A question that operators ask of their memories."""

    FADING = "fading"
    UNUSED = "unused"
    SINGLE = "single"
    EDITED = "edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories are asked for; None asks for all. `service` "general" means NULL.

    `by` is until when those of the view `fading` are to fall inactive. `finds` is a project
    that finds its own and the global ones alone, deleted ones not.
    """

    q: str | None = None
    service: str | None = None
    category: Category | None = None
    kind: Kind | None = None
    operational: bool | None = None
    project: str | None = None
    scope: str | None = None
    session_id: int | None = None
    active: bool | None = None
    in_review: bool = False
    view: View | None = None
    by: datetime | None = None
    ids: tuple[int, ...] = ()
    finds: str | None = None

    @property
    def everything(self) -> bool:
        """Whether every memory is asked for."""
        return replace(self, q=self.q or None, by=None) == Filter()


def conditions(wanted: Filter, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return what is true of the memories that are asked for."""
    found: list[sa.ColumnElement[bool]] = []
    if wanted.q:
        texts = (columns.observation, columns.title)
        found.append(sa.or_(*(each.icontains(wanted.q, autoescape=True) for each in texts)))
    if wanted.service is not None:
        service = None if wanted.service == GENERAL else wanted.service
        found.append(columns.service.is_not_distinct_from(service))
    if wanted.active is not None:
        found.append(columns.active == int(wanted.active))
    asked = {name: getattr(wanted, name) for name in ("category", "kind", "project", "scope")}
    found += [columns[name] == value for name, value in asked.items() if value is not None]
    if wanted.session_id is not None:
        found.append(sa.func.coalesce(columns.session_id, _NOBODY) == wanted.session_id)
    if wanted.in_review:
        found.append(_in_review(columns))
    if wanted.ids:
        found.append(columns.id.in_(wanted.ids))
    if wanted.view is not None:
        found.append(_VIEWS[wanted.view](wanted, columns))
    return [*found, *_section(wanted.operational, columns), *_walls(wanted.finds, columns)]


def _section(operational: bool | None, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Ask for the operational memories, or for knowledge."""
    if operational is None:
        return []
    chosen = columns.category.in_(OPERATIONAL)
    return [chosen if operational else ~chosen]


def _walls(project: str | None, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Ask for those that a project finds, as `usecases.walls.finds` says."""
    if project is None:
        return []
    mine = (columns.project == project) | (columns.scope == "global")
    return [mine, columns.inactive_reason.is_distinct_from(InactiveReason.DELETED.value)]


def _in_review(columns: Any) -> sa.ColumnElement[bool]:
    """Ask for those that stand in an open review, on either side."""
    sides = (sa.select(side).where(reviews.c.state == "open") for side in _SIDES)
    return columns.id.in_(sa.union_all(*sides))  # type: ignore[no-any-return]


def _fading(wanted: Filter, columns: Any) -> sa.ColumnElement[bool]:
    """Ask for those that fall inactive in time, as `domain.decay.falls_inactive` says."""
    cents = sa.cast(sa.func.round(columns.confidence * _CENTS), NUMBER)
    spare = (cents - round(ACTIVE_THRESHOLD * _CENTS)) // round(WEEKLY_DECAY * _CENTS)
    weeks = columns.decayed_weeks + spare + 1
    begun = Seconds(sa.type_coerce(columns.updated_at, sa.Text)) + int(GRACE.total_seconds())
    until = 0 if wanted.by is None else int(wanted.by.timestamp())
    return sa.and_(
        columns.active == 1,
        columns.pinned == 0,
        columns.category.in_(OPERATIONAL),
        begun + weeks * int(WEEK.total_seconds()) <= until,
    )


def _unused(wanted: Filter, columns: Any) -> sa.ColumnElement[bool]:
    """Ask for those that no session was told."""
    told = sa.select(1).where(
        exposures.c.memory_id == columns.id, exposures.c.position.is_not(None)
    )
    return ~told.exists()


def _single(wanted: Filter, columns: Any) -> sa.ColumnElement[bool]:
    """Ask for those that nobody but the one who said them first has said."""
    again = sa.select(1).where(
        history.c.memory_id == columns.id,
        history.c.cause == "reinforced",
        history.c.session_id.is_distinct_from(columns.session_id),
    )
    return ~again.exists()


def _edited(wanted: Filter, columns: Any) -> sa.ColumnElement[bool]:
    """Ask for those that a person changed."""
    by_hand = sa.select(1).where(
        history.c.memory_id == columns.id,
        history.c.cause == "edited",
        history.c.actor == "operator",
    )
    return by_hand.exists()


_SIDES: Final = (reviews.c.old_id, reviews.c.new_id)
_VIEWS: Final[dict[View, Callable[[Filter, Any], sa.ColumnElement[bool]]]] = {
    View.FADING: _fading,
    View.UNUSED: _unused,
    View.SINGLE: _single,
    View.EDITED: _edited,
}
