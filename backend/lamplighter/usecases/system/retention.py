"""Retention: rows are removed at their age, and rounds without a change fold to one row a day."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

from lamplighter.domain.sessions.retention import Retention, fold_key, is_unchanged
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.feed import changes
from lamplighter.repository.services import checks
from lamplighter.repository.sessions import folding
from lamplighter.repository.upkeep import pruning
from lamplighter.repository.upkeep.batches import in_batches

AT_ONCE: Final = 50
"""Sessions in one transaction: each has many rows."""


async def apply_retention(db: Database, retention: Retention, *, now: datetime) -> dict[str, int]:
    """Remove what is older than `retention` says, and fold rounds; return how many rows of each.

    A kill loses nothing: each write is whole, and the next run does the rest.
    """
    steps: dict[str, Callable[..., Awaitable[int]]] = {
        "changes": _in_one_write(changes.prune),
        "session_checks": _in_one_write(checks.prune),
        "rounds": partial(fold_rounds, now=now),
        "sessions": _remove_details,
        "events": pruning.prune_events,
        "records": pruning.prune_records,
    }
    ages = asdict(retention)
    return {
        name: await work(db, before=now - ages[name])
        for name, work in steps.items()
        if ages[name] is not None
    }


def _in_one_write(prune: Callable[..., Awaitable[int]]) -> Callable[..., Awaitable[int]]:
    async def work(db: Database, *, before: datetime) -> int:
        async with writing(db):
            return await prune(db, before=before)

    return work


async def fold_rounds(db: Database, *, before: datetime, now: datetime) -> int:
    """Fold the unchanged healthy rounds of each whole day before a moment; return how many ended.

    The last round of a day stands for the others, which are removed with their details. What a
    person, a memory or an incident refers to is left as it is.
    """
    midnight = before.replace(hour=0, minute=0, second=0, microsecond=0)
    async with reading(db):
        rounds = await folding.healthy_rounds(db, before=midnight)
        kept = await folding.referred(db, [each.id for each in rounds]) if rounds else set()
    alike = [each for each in rounds if is_unchanged(each) and each.id not in kept]
    folded = 0
    for _, same in groupby(sorted(alike, key=_order), key=fold_key):
        group = [*same][:AT_ONCE]  # of more in a day, the next run folds the rest
        if len(group) > 1:
            async with writing(db):
                await folding.fold(db, group, now=now)
            folded += len(group) - 1
    return folded


def _order(session: Session) -> tuple[str, int]:
    return str(fold_key(session)), session.id


async def _remove_details(db: Database, *, before: datetime) -> int:
    ids = await folding.with_details(db, before=before)

    async def remove(some: Sequence[int]) -> list[int]:
        await folding.remove_details(db, some)
        return [*some]

    return len(await in_batches(db, ids, remove, first=AT_ONCE))
