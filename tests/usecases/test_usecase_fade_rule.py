"""Decay by SQL over many rows equals the rule of the domain, on both databases."""

import asyncio
import itertools
import json
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from examples import NOON, held, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import direct_writes
from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.memory import (
    GRACE_PERIOD,
    WEEK,
    Category,
    InactiveReason,
    Memory,
    MemoryKind,
    Trust,
    clamp,
)
from lamplighter.repository import Database
from lamplighter.repository.memory import history
from lamplighter.repository.store.dialect import stamp
from lamplighter.usecases.memory.fade import fade

FORMS = (
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S+00:00",
    "%Y-%m-%dT%H:%M:%S.%f+00:00",
    "%Y-%m-%d",
    "%Y%m%dT%H%M%SZ",
    "%Y-%m-%dT%H:%MZ",
    "%Y-%m-%dT%H:%M:%S.250Z",
    "%Y-%m-%dT%H:%M:%S+02:00",
    "%Y-%m-%dT%H:%M:%S.%f-05:30",
)
AGES = st.one_of(
    st.timedeltas(min_value=timedelta(days=-40), max_value=timedelta(days=900)),
    # just before and after a week is full
    st.builds(
        lambda weeks, micros: GRACE_PERIOD + weeks * WEEK + timedelta(microseconds=micros),
        st.integers(0, 12),
        st.sampled_from([-1_000_000, -1, 0, 1, 999_999]),
    ),
)
CONFIDENCES = st.one_of(
    st.integers(0, 100).map(lambda each: each / 100),
    st.sampled_from([0.3, 0.29, 0.31, 0.4, 0.1, 0.705, 0.125, 0.333]),
)
NOWS = st.sampled_from([NOON, NOON + timedelta(microseconds=250_001)])
ROWS = st.fixed_dictionaries(
    {
        "category": st.sampled_from(list(Category)),
        "kind": st.sampled_from(list(MemoryKind)),
        "trust": st.sampled_from(list(Trust)),
        "confidence": CONFIDENCES,
        "active": st.integers(0, 1),
        "inactive_reason": st.sampled_from([None, *InactiveReason]),
        "pinned": st.sampled_from([0, 0, 0, 1]),
        "decayed_weeks": st.sampled_from([0, 0, 1, 2, 5]),
        "observation": st.sampled_from(["Takes 60s", 'says "no"\\', "naïve ☃ 𝄞", "it's 50%"]),
        "age": AGES,
        "form": st.sampled_from(FORMS),
    }
)
LOOSE = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def written(url: str, given: list[dict[str, Any]], now: datetime) -> None:
    """Write rows by SQL, in the formats that people use."""
    statements = [f"DELETE FROM {table}" for table in ("history", "changes", "memories")]
    for row in given:
        updated = f"{now - row['age']:{row['form']}}"
        values = {
            "service": "it's",
            **{name: row[name] for name in row if name not in ("age", "form")},
            "created_at": stamp(now),
            "updated_at": updated,
        }
        statements.append(insert(values))
    direct_writes.run(url, *statements)


def insert(values: dict[str, Any]) -> str:
    said = [
        "NULL"
        if each is None
        else "'" + each.replace("'", "''") + "'"
        if isinstance(each, str)
        else str(each)
        for each in values.values()
    ]
    return f"INSERT INTO memories ({', '.join(values)}) VALUES ({', '.join(said)})"


def unhashed(found: list[Memory]) -> list[Memory]:
    """Remove the hash, which a row written by SQL gets at its first write by the product."""
    return [replace(each, content_hash="") for each in found]


def one_by_one(before: list[Memory], now: datetime) -> list[Memory]:
    return [apply_decay(each, now=now) if each.confidence > 0 else each for each in before]


@LOOSE
@given(given=st.lists(ROWS, min_size=1, max_size=30), now=NOWS)
async def test_bulk_fading_equals_fading_each_memory(
    db: Database, url: str, given: list[dict[str, Any]], now: datetime
) -> None:
    await asyncio.to_thread(written, url, given, now)
    before = await held(db)
    now = max(now, *(each.updated_at for each in before))
    wanted = one_by_one(before, now)
    weaker = [(old, new) for old, new in zip(before, wanted, strict=True) if old is not new]

    count = await fade(db, now=now)

    assert unhashed(await held(db)) == unhashed(wanted)
    assert count == len(weaker)
    said = {row["memory_id"]: row for row in await rows(db, "history")}
    assert {key: (row["before"], row["after"]) for key, row in said.items()} == {
        old.id: (history.state(old), history.state(new)) for old, new in weaker
    }
    assert {(row["cause"], row["actor"], row["at"]) for row in said.values()} <= {
        ("faded", "supervisor", now)
    }
    for old, new in weaker:
        weeks = new.decayed_weeks - old.decayed_weeks
        assert said[old.id]["version"] == new.version
        assert said[old.id]["reason"] == (
            f"not confirmed for {weeks} more week{'s' if weeks > 1 else ''}"
        )
    told = [json.loads(row["row"]) for row in await rows(db, "changes") if row["op"] == "batch"]
    alone = [row["entity_id"] for row in await rows(db, "changes") if row["op"] == "updated"]
    assert {each["op"] for each in told} <= {"updated"}
    assert sorted([*alone, *itertools.chain(*(each["ids"] for each in told))]) == [
        old.id for old, _ in weaker
    ]


@LOOSE
@given(
    given=st.lists(ROWS, min_size=1, max_size=15),
    steps=st.lists(st.integers(0, 120), min_size=1, max_size=4),
)
async def test_repeated_fading_equals_fading_once(
    db: Database, url: str, given: list[dict[str, Any]], steps: list[int]
) -> None:
    given = [
        {
            **row,
            "age": abs(row["age"]),
            "confidence": clamp(row["confidence"]),
            "inactive_reason": None if row["active"] else row["inactive_reason"],
        }
        for row in given
    ]
    await asyncio.to_thread(written, url, given, NOON)
    for days in sorted(steps):
        await fade(db, now=NOON + timedelta(days=days))
    often = await held(db)

    await asyncio.to_thread(written, url, given, NOON)
    await fade(db, now=NOON + timedelta(days=max(steps)))
    once = await held(db)

    for one, other in zip(once, often, strict=True):
        assert other.decayed_weeks <= one.decayed_weeks  # nothing is taken where nothing is left
        same = {"id": one.id, "version": one.version, "decayed_weeks": one.decayed_weeks}
        assert unhashed([replace(other, **same)]) == unhashed([one])


async def test_fading_in_sql_equals_the_rule_for_every_confidence(db: Database, url: str) -> None:
    ages = [GRACE_PERIOD + weeks * WEEK for weeks in (1, 2, 3, 7, 11)]
    given = [
        {"confidence": hundredth / 100, "age": age, "form": FORMS[0], "category": "timing"}
        for hundredth in range(101)
        for age in ages
    ]
    random.Random(1).shuffle(given)
    values = ", ".join(
        f"('{row['category']}', 'x', {row['confidence']}, '{stamp(NOON - row['age'])}',"
        f" '{stamp(NOON - row['age'])}')"
        for row in given
    )
    names = "category, observation, confidence, created_at, updated_at"
    direct_writes.run(url, f"INSERT INTO memories ({names}) VALUES {values}")
    before = await held(db)

    await fade(db, now=NOON)

    assert len(before) == 505
    assert await held(db) == one_by_one(before, NOON)
