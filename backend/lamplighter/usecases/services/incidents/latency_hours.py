"""Learn the hours of the day at which checks are slow, once a day from their aggregates."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lamplighter.domain.learning.facts import FactKind, LearnedFact
from lamplighter.domain.learning.hours import (
    SPAN,
    SlowHours,
    hours_at,
    slow_hours,
    was_slow,
)
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
from lamplighter.repository.services import outcomes, series
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import fact_writes
from lamplighter.usecases.services.incidents.fact_writes import Lesson


async def learn_hours(here: Context, services: Services, *, fading: bool = True) -> int:
    """Learn from the days that ended before today; return of how many checks.

    A memory is reinforced or contradicted by its newest day, and once a day.
    """
    today = span_start(here.now(), DAY)
    declared = {(service.name, each.name) for service in services for each in service.checks}
    async with reading(here.db):
        found = [e for e in await series.every(here.db) if (e.service, e.check) in declared]
    count = 0
    for each in found:
        async with reading(here.db):
            spans = await series.aggregates(
                here.db, SeriesResolution.FINE, each.id, start=today - SPAN, end=today
            )
            known = await outcomes.facts_of(here.db, each.service)
        if any(map(_fact(each, today).is_same, known)) or slow_hours(spans):
            async with writing(here.db):
                if lesson := await _lesson(here.db, each, spans, today):
                    source = f"latency of {each.check}"
                    await fact_writes.remember(here, source, lesson, fading=fading)
                    count += 1
        await asyncio.sleep(0)
    return count


def _fact(each: CheckSeries, today: datetime) -> LearnedFact:
    return LearnedFact(
        kind=FactKind.SLOW_HOURS, service=each.service, signature=each.check, at=today
    )


async def _lesson(
    db: Database, each: CheckSeries, spans: Sequence[Aggregate], today: datetime
) -> Lesson | None:
    """Return what the newest day shows of the slow hours of a check; None without news."""
    fact = _fact(each, today)
    before, after = await fact_writes.before(db, fact, (), (today - EPOCH) // DAY)
    if before is not None and before.at >= today:
        return None
    found = [one for one in spans if one.at >= EPOCH + after * DAY]
    memory = await memories.get(db, before.memory_id) if before and before.sentence else None
    held = (
        hours_at(before.seconds[0], before.seconds[1], found)
        if before and memory and memory.active
        else None
    )
    hours = _newer(held, slow_hours(found))
    if hours is None:
        return None
    newest = today - (DAY if hours.start < hours.end else 2 * DAY)
    helped = was_slow(hours, found, newest)
    if helped is None or (held is None and not helped):
        return None
    fact = replace(
        fact,
        seconds=(hours.start, hours.end, hours.slow, hours.usual),
        worked=hours.slow_days,
        tried=hours.days,
        counted_from=after,
    )
    return Lesson(fact, before, helped)


def _newer(held: SlowHours | None, found: SlowHours | None) -> SlowHours | None:
    """Return the hours that a memory claims: those of now where they are the same ones."""
    if held is None or (found is not None and found.overlaps(held)):
        return found
    return held
