"""Hours of the day at which checks are slow, learned once a day from their aggregates."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lamplighter.domain.errors import LeadershipLost
from lamplighter.domain.learning.facts import FactKind, LearnedFact
from lamplighter.domain.learning.hours import SPAN, WEEK, SlowHours, hours_at, slow_hours, was_slow
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.series import (
    DAY,
    EPOCH,
    Aggregate,
    CheckSeries,
    SeriesResolution,
    span_start,
)
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events, outcomes, series
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import lessons
from lamplighter.usecases.services.incidents.lessons import Lesson

logger = logging.getLogger(__name__)


async def learn_hours(here: Context, services: Services, *, fading: bool = True) -> int:
    """Learn from the days before today; return the number of checks with a lesson.

    A memory is reinforced or contradicted by its newest day, and once a day.
    """
    today = span_start(here.now(), DAY)
    declared = {(service.name, each.name) for service in services for each in service.checks}
    async with reading(here.db):
        found = [e for e in await series.every(here.db) if (e.service, e.check) in declared]
    count = 0
    for each in found:
        try:
            count += await _learn_of(here, each, today, fading=fading)
        except (Error, TimeoutError, LeadershipLost):
            raise
        except Exception as error:  # an error in one check must not stop the others
            text = f"Slow hours of {each.check} were not learned: {type(error).__name__}"
            logger.exception("%s", text)
            async with writing(here.db):
                await events.insert(
                    here.db, Level.WARNING, text, service=each.service, now=here.now()
                )
        await asyncio.sleep(0)
    return count


async def _learn_of(here: Context, each: CheckSeries, today: datetime, *, fading: bool) -> bool:
    async with reading(here.db):
        spans = await series.aggregates(
            here.db, SeriesResolution.FINE, each.id, start=today - SPAN[WEEK], end=today
        )
        known = await outcomes.facts_of(here.db, each.service)
    if not any(map(_fact(each, today).is_same, known)) and not slow_hours(spans):
        return False
    async with writing(here.db):
        lesson = await _lesson(here.db, each, spans, today)
        if lesson:
            await lessons.remember(here, f"latency of {each.check}", lesson, fading=fading)
    return lesson is not None


def _fact(each: CheckSeries, today: datetime) -> LearnedFact:
    return LearnedFact(
        kind=FactKind.SLOW_HOURS, service=each.service, signature=each.check, at=today
    )


async def _lesson(
    db: Database, each: CheckSeries, spans: Sequence[Aggregate], today: datetime
) -> Lesson | None:
    """Return the evidence of the newest day on a check's slow hours; None without news."""
    fact, before = await lessons.compare(db, _fact(each, today), (today - EPOCH) // DAY)
    if before is not None and before.at >= today:
        return None
    recent = [one for one in spans if one.at >= EPOCH + fact.counted_from * DAY]
    memory = await memories.get(db, before.memory_id) if before and before.sentence else None
    previous = (
        hours_at(before.seconds[0], before.seconds[1], recent, WEEK if before.action else DAY)
        if before and memory and memory.active
        else None
    )
    hours = _newer(previous, slow_hours(recent))
    if hours is None or today - hours.last_before(today)[1] >= DAY:  # they may occur weekly
        return None
    helped = was_slow(hours, recent, today)
    if helped is None or (previous is None and not helped):
        return None
    fact = replace(
        fact,
        action=hours.weekday,
        seconds=(hours.start, hours.end, hours.slow, hours.usual),
        worked=hours.slow_days,
        tried=hours.days,
    )
    return Lesson(fact, before, helped)


def _newer(held: SlowHours | None, found: SlowHours | None) -> SlowHours | None:
    """Return the hours that a memory claims, with the current values if they are the same hours."""
    if held is None:
        return found
    is_same = found is not None and found.period <= held.period and found.overlaps(held)
    return found if is_same else held
