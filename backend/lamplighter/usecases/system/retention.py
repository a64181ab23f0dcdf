"""Retention: old rows are removed, and rounds without a change are folded to one row a day."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

from lamplighter.domain.sessions.retention import Retention, fold_key, is_unchanged
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.clients import transcripts
from lamplighter.repository.services import checks
from lamplighter.repository.sessions import folding
from lamplighter.repository.store import changes
from lamplighter.repository.upkeep import pruning
from lamplighter.repository.upkeep.batches import REST_SECONDS, in_batches

AT_ONCE: Final = 50
"""The number of sessions in one transaction: each has many rows."""

FOLDED_AT_ONCE: Final = 20
PAGE: Final = 500
"""The number of rounds to read at a time; a year of them would block all else for seconds."""


async def apply_retention(db: Database, retention: Retention, *, now: datetime) -> dict[str, int]:
    """Remove rows older than `retention`, and fold rounds; return the number of rows of each kind.

    A kill loses nothing: each write is complete, and the next run does the rest.
    """
    steps: dict[str, Callable[..., Awaitable[int]]] = {
        "changes": _in_one_write(changes.prune),
        "session_checks": _in_one_write(checks.prune),
        "transcripts": _in_one_write(transcripts.prune),
        "rounds": partial(fold_rounds, now=now),
        "sessions": _remove_details,
        "events": pruning.prune_events,
        "records": pruning.prune_records,
        "incidents": pruning.prune_incidents,
        "history": pruning.prune_history,
        "journal": pruning.prune_journal,
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
    """Fold the unchanged healthy rounds of each whole day before a time; return how many.

    The last round of a day represents the others, which are removed with their details. Rounds that
    a person, a memory or an incident refers to stay unchanged.
    """
    midnight = before.replace(hour=0, minute=0, second=0, microsecond=0)
    folded, behind = 0, 0
    while True:
        async with reading(db):
            rounds = await folding.healthy_rounds(db, before=midnight, after=behind, limit=PAGE)
            kept = await folding.referred(db, [each.id for each in rounds]) if rounds else set()
        alike = [each for each in rounds if is_unchanged(each) and each.id not in kept]
        alike.sort(key=lambda each: (str(fold_key(each)), each.id))
        for _, same in groupby(alike, key=fold_key):
            folded += await _fold_alike(db, [*same], now=now)
        if len(rounds) < PAGE:
            return folded  # a day on two pages is folded in parts; the next run joins them
        behind = rounds[-1].id


async def _fold_alike(db: Database, rounds: Sequence[Session], *, now: datetime) -> int:
    """Fold identical rounds into one, a few at a time; return how many were folded."""
    left = [*rounds]
    while len(left) > 1:
        async with writing(db):
            left[:FOLDED_AT_ONCE] = [await folding.fold(db, left[:FOLDED_AT_ONCE], now=now)]
        await asyncio.sleep(REST_SECONDS)  # let others write
    return len(rounds) - len(left)


async def _remove_details(db: Database, *, before: datetime) -> int:
    ids = await folding.with_details(db, before=before)

    async def remove(some: Sequence[int]) -> list[int]:
        await folding.remove_details(db, some)
        return [*some]

    return len(await in_batches(db, ids, remove, first=AT_ONCE))
