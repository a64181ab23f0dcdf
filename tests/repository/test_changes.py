"""The change feed: in the order of commits, no number twice, no change missed."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.change import Change, ChangeOp
from lamplighter.repository import Database, writing
from lamplighter.repository.store import changes
from lamplighter.repository.store.dialect import moment, stamp
from lamplighter.repository.store.statements import Key, after

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def append(db: Database, count: int = 1, *, now: datetime = NOON) -> None:
    async with writing(db):
        for number in range(count):
            await changes.append(
                db, "event", number, ChangeOp.CREATED, now=now, version=1, row={"text": "ü\n"}
            )


async def test_change_is_read_as_published(db: Database) -> None:
    await append(db)

    assert await changes.list_after(db, 0) == [
        Change(1, "event", 0, ChangeOp.CREATED, 1, {"text": "ü\n"}, NOON)
    ]


async def test_list_after_returns_changes_in_order_after_a_sequence_number(db: Database) -> None:
    await append(db, 5)

    assert [each.seq for each in await changes.list_after(db, 2)] == [3, 4, 5]
    assert [each.seq for each in await changes.list_after(db, 2, limit=2)] == [3, 4]
    assert await changes.list_after(db, 5) == []
    assert await changes.last_seq(db) == 5
    assert not await changes.has_missed(db, 0)


async def test_empty_feed_starts_at_zero(db: Database) -> None:
    assert await changes.last_seq(db) == 0
    assert not await changes.has_missed(db, 0)


async def test_prune_removes_old_changes_but_keeps_the_newest(db: Database) -> None:
    await append(db, 3)

    async with writing(db):
        assert await changes.prune(db, before=NOON + timedelta(days=1)) == 2
        assert await changes.prune(db, before=NOON + timedelta(days=1)) == 0
    assert [each.seq for each in await changes.list_after(db, 0)] == [3]

    await append(db)
    assert await changes.last_seq(db) == 4


async def test_prune_keeps_changes_at_or_after_the_limit(db: Database) -> None:
    await append(db)
    await append(db, 2, now=NOON + timedelta(seconds=1))

    async with writing(db):
        assert await changes.prune(db, before=NOON + timedelta(seconds=1)) == 1

    assert [each.seq for each in await changes.list_after(db, 0)] == [2, 3]


@pytest.mark.parametrize(
    ("seen", "missed"), [(0, True), (1, True), (2, False), (3, False), (5, False), (6, True)]
)
async def test_has_missed_reports_a_reader_behind_the_retention(
    db: Database, seen: int, missed: bool
) -> None:
    await append(db, 2)
    await append(db, 3, now=NOON + timedelta(days=1))
    async with writing(db):
        await changes.prune(db, before=NOON + timedelta(hours=1))

    assert await changes.has_missed(db, seen) is missed


async def test_blank_rows_removes_the_payloads_of_a_row(db: Database) -> None:
    await append(db, 2)
    async with writing(db):
        await changes.blank_rows(db, "event", [1])
        await changes.blank_rows(db, "memory", [0])

    assert [each.row for each in await changes.list_after(db, 0)] == [{"text": "ü\n"}, None]


MOMENTS = st.datetimes(timezones=st.just(UTC))


@given(MOMENTS, MOMENTS)
def test_timestamps_as_text_are_read_exactly_and_sort_by_time(one: datetime, two: datetime) -> None:
    assert moment(stamp(one)) == one
    assert (stamp(one) < stamp(two)) == (one < two)
    assert len(stamp(one)) == len("2026-01-01T12:00:00.000000Z")


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 30)),
    unique_by=lambda row: row[2],
    max_size=12,
)


@given(ROWS, st.booleans(), st.booleans())
def test_after_condition_selects_exactly_the_following_rows(
    rows: list[tuple[int, int, int]], first_down: bool, second_down: bool
) -> None:
    table = sa.Table("t", sa.MetaData(), *(sa.Column(name, sa.Integer) for name in "abc"))
    keys = [Key(table.c.a, first_down), Key(table.c.b, second_down), Key(table.c.c)]
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        if rows:
            connection.execute(
                sa.insert(table), [dict(zip("abc", row, strict=True)) for row in rows]
            )
        query = sa.select(table).order_by(*(key.ordered() for key in keys))
        ordered = [tuple(row) for row in connection.execute(query)]
        for at, row in enumerate(ordered):
            behind = connection.execute(query.where(after(keys, row)))
            assert [tuple(each) for each in behind] == ordered[at + 1 :]
    engine.dispose()
