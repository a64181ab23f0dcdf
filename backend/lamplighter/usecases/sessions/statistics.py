"""Statistics: the outcomes and costs of sessions over the last days, by tier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from lamplighter.domain.sessions.session import TIERS, Status
from lamplighter.repository.upkeep.statistics import DayRuns

DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class RunSpending:
    """The turns and cost of sessions; None if not reported by any engine."""

    turns: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatistics:
    """The days, oldest first, with the sessions of each tier; their outcomes and spending."""

    days: tuple[tuple[date, Mapping[int, int]], ...]
    ended: Mapping[int, Mapping[Status, int]]
    today: RunSpending
    month: RunSpending


def first_day(now: datetime) -> date:
    """Return the first day of the statistics: of the last days, or of this month."""
    return min(last_days(now)[0], now.date().replace(day=1))


def last_days(now: datetime) -> Sequence[date]:
    """Return the last days, oldest first."""
    return _days_until(now.date())


@lru_cache(maxsize=2)
def _days_until(day: date) -> Sequence[date]:
    return tuple(day - timedelta(days=back) for back in reversed(range(DAYS)))


def summarize_runs(runs: Sequence[DayRuns], *, now: datetime) -> RunStatistics:
    """Sum up sessions by day and tier, by tier and status, and the spending of day and month."""
    today = now.date()
    days = {day: dict.fromkeys(TIERS, 0) for day in last_days(now)}
    ended: dict[int, dict[Status, int]] = {tier: {} for tier in TIERS}
    for each in runs:
        if each.day not in days or each.tier not in ended:
            continue
        days[each.day][each.tier] += each.count
        ended[each.tier][each.status] = ended[each.tier].get(each.status, 0) + each.count
    return RunStatistics(
        days=tuple(days.items()),
        ended=ended,
        today=_sum_spending([each for each in runs if each.day == today]),
        month=_sum_spending([each for each in runs if each.day >= today.replace(day=1)]),
    )


def _sum_spending(found: Sequence[DayRuns]) -> RunSpending:
    turns = [each.turns for each in found if each.turns is not None]
    costs = [each.cost_usd for each in found if each.cost_usd is not None]
    return RunSpending(
        turns=sum(turns) if turns else None,
        cost_usd=round(sum(costs), 6) if costs else None,
    )
