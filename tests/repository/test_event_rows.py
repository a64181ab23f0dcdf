"""Search for events by time and by text."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import driver, tables
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.store.dialect import distinct_values
from lamplighter.usecases.services.events import density

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
REFUSED = "Connection refused on port 8096"


async def happened(
    db: Database,
    text: str = REFUSED,
    *,
    level: Level = Level.CRITICAL,
    service: str | None = "jellyfin",
    session_id: int | None = None,
    at: datetime = NOON,
) -> int:
    async with writing(db):
        event = await events.insert(
            db,
            level,
            text,
            service=service,
            session_id=session_id,
            source="marker",
            now=at,
        )
    return event.id


@pytest.fixture
async def filled(db: Database) -> Database:
    """Store events: the same in two sessions, and others with different fields."""
    async with writing(db):
        for _ in range(2):
            await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)
    await happened(db, session_id=1)
    await happened(db, service="caddy", at=NOON + MINUTE)
    await happened(db, session_id=1, at=NOON + 2 * MINUTE)
    await happened(db, level=Level.WARNING, at=NOON + 3 * MINUTE)
    await happened(db, session_id=2, at=NOON + 4 * MINUTE)
    await happened(db, "All is well", level=Level.INFO, service=None, at=NOON + 5 * MINUTE)
    return db


async def ids(db: Database, wanted: EventSelection) -> list[int]:
    return [each.id for each in (await events.page(db, wanted, limit=50)).items]


async def test_time_range_includes_its_start_and_excludes_its_end(filled: Database) -> None:
    wanted = EventSelection(since=NOON + MINUTE, until=NOON + 4 * MINUTE)

    assert await ids(filled, wanted) == [4, 3, 2]


async def test_same_filter_matches_level_service_and_text(filled: Database) -> None:
    assert await ids(filled, EventSelection(same=3)) == [5, 3, 1]
    assert await ids(filled, EventSelection(same=6)) == [6]
    assert await ids(filled, EventSelection(same=99)) == []


async def test_events_with_the_same_text_form_one_group(filled: Database) -> None:
    found = (await events.page_groups(filled, EventSelection(), limit=50)).items

    assert [(each.count, each.service, each.level, each.last_id) for each in found] == [
        (1, None, "info", 6),
        (3, "jellyfin", "critical", 5),
        (1, "jellyfin", "warning", 4),
        (1, "caddy", "critical", 2),
    ]
    many = found[1]
    assert (many.first_id, many.first_at, many.last_at) == (1, NOON, NOON + 4 * MINUTE)
    assert (many.sessions, many.session_id, many.text) == (2, 2, REFUSED)


async def test_groups_continue_after_the_previous_page(filled: Database) -> None:
    first = await events.page_groups(filled, EventSelection(), limit=2)
    rest = await events.page_groups(filled, EventSelection(), limit=2, position=first.position)

    assert [each.last_id for each in (*first.items, *rest.items)] == [6, 5, 4, 2]
    assert (first.position, rest.position) == ([5], None)


async def test_density_counts_events_by_time_with_the_same_filters(filled: Database) -> None:
    now = NOON + 6 * MINUTE

    found = (await density(filled, EventSelection(), most=10, now=now)).as_json()
    few = (await density(filled, EventSelection(service="jellyfin"), most=2, now=now)).as_json()
    chosen = EventSelection(since=NOON + MINUTE, until=NOON + 3 * MINUTE)
    some = (await density(filled, chosen, most=10, now=now)).as_json()

    assert (found["seconds"], found["total"]) == (60, 6)
    assert [each["critical"] for each in found["stretches"]] == [1, 1, 1, 0, 1, 0]
    assert found["stretches"][3] == {
        "at": "2026-01-01T12:03:00.000000Z",
        "info": 0,
        "warning": 1,
        "critical": 0,
    }
    assert (few["seconds"], few["total"]) == (300, 4)
    assert [each["critical"] for each in few["stretches"]] == [3, 0]
    assert (some["seconds"], some["total"], len(some["stretches"])) == (30, 2, 4)


@pytest.mark.parametrize("seconds", [1, 10, 60, 600, 3_600, 86_400])
async def test_count_by_time_returns_the_start_of_each_unit(db: Database, seconds: int) -> None:
    at = datetime(2026, 1, 1, 12, 34, 56, 789_000, tzinfo=UTC)
    await happened(db, at=at)

    (found,) = await events.count_by_time(db, EventSelection(), seconds)

    assert found.at <= at < found.at + timedelta(seconds=seconds)
    assert found.at.timestamp() % seconds == 0


async def test_density_of_no_events_is_empty(db: Database) -> None:
    found = await density(db, EventSelection(), most=10, now=NOON)

    assert found.as_json() == {"seconds": 0, "total": 0, "stretches": []}


async def test_text_filter_ignores_case_and_matches_special_characters_literally(
    db: Database,
) -> None:
    ids = [await happened(db, text) for text in ("100 % of /srv", "100 of /srv", "A_B", "AxB")]

    async def matches(q: str) -> list[int]:
        page = await events.page(db, EventSelection(q=q), limit=9)
        return sorted(each.id for each in page.items)

    assert await matches("OF /SRV") == ids[:2]
    assert await matches("0 %") == ids[:1]
    assert await matches("a_b") == ids[2:3]


async def test_service_names_are_distinct_and_read_from_an_index(db: Database, url: str) -> None:
    for service in ("plex", None, "AdGuard-Home", "plex", "caddy"):
        await happened(db, service=service)

    assert await memories.spelling(db, tables.events, "adguard_home") == "AdGuard-Home"
    assert await memories.spelling(db, tables.events, "nothing") is None
    query = distinct_values(tables.events.c.service)
    assert [row["value"] for row in await db.fetch_all(query)] == ["AdGuard-Home", "caddy", "plex"]
    if not is_postgres(url):  # it would scan a table of a few rows
        with driver.connect(str(file_of(url))) as connection:
            plan = f"{connection.execute(f'EXPLAIN QUERY PLAN {query}').fetchall()}"
        assert "SCAN events" not in plan
        assert plan.count("SEARCH events USING COVERING INDEX") == 2
