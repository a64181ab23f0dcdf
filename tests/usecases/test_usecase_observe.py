"""A session's output is ingested line by line, once, together with the read offset."""

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from examples import LATER, NOON, SECRETIVE, held, rows, session, stream

import direct_writes
from confidences import UP, after
from contexts import DEFAULTS, context, ingesting
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.sessions.transcript import Line
from lamplighter.repository import Database, writing
from lamplighter.repository.services import events
from lamplighter.repository.sessions import marker_results, sessions
from lamplighter.repository.store import driver
from lamplighter.usecases.ingest import ignored
from lamplighter.usecases.ingest.context import IngestResult, Pace
from lamplighter.usecases.ingest.session_lines import ingest, ingest_some
from lamplighter.usecases.ingest.steps import StepQueue

MARKERS = (
    "[MEMORY:timing:jellyfin] Takes 60s to start",
    "[EVENT:warn:jellyfin] Slow today",
    "[COOLDOWN:restart:jellyfin] success — healthy again",
    "[ESCALATE:jellyfin] Fails since noon",
    "`[MEMORY:timing:jellyfin] In code`",
    "[MEMORY:misc] Not a category",
)
RESULT = {"type": "result", "is_error": False, "result": "Report", "num_turns": 3}
KEPT = ("memories", "history", "events", "cooldowns", "markers", "changes", "sessions", "checks")


def whole() -> Pace:
    """Return a pace with one transaction for all lines, on a machine of any speed."""
    return Pace(seconds=math.inf)


async def took(db: Database, by: Session, lines: Sequence[Line], **more: Any) -> IngestResult:
    return await ingest(ingesting(db, by, **{"pace": whole(), **more}), lines, now=NOON)


async def state(db: Database) -> dict[str, list[dict[str, Any]]]:
    return {table: await rows(db, table) for table in KEPT}


async def test_each_kind_of_marker_is_stored(db: Database) -> None:
    one = await session(db, tier=2)
    lines = stream(*MARKERS, RESULT)

    taken = await took(db, one, lines)

    assert (taken.learned, taken.reinforced, taken.events, taken.ignored) == (1, 0, 4, 1)
    assert taken.finished is not None
    assert taken.finished.turns == 3
    ended = await sessions.get(db, one.id)
    assert ended == replace(
        one, log_offset=lines[-1].end, learned=1, events=4, ignored=1, version=2
    )
    assert [(each.service, each.observation) for each in await held(db)] == [
        ("jellyfin", "Takes 60s to start")
    ]
    assert [
        (each["level"], each["service"], each["text"], each["source"], each["tier"])
        for each in await rows(db, "events")
    ] == [
        ("warning", "jellyfin", "Slow today", "marker", 2),
        ("info", "jellyfin", "Restart (claimed success): healthy again", "marker", 2),
        ("warning", "jellyfin", "Escalation to tier 3: Fails since noon", "marker", 2),
        (
            "warning",
            None,
            "Memory rejected, unknown category 'misc'; it is one of timing, dependency, behavior, "
            "remediation, maintenance: [MEMORY:misc] Not a category",
            "supervisor",
            2,
        ),
    ]
    assert await rows(db, "cooldowns") == []


async def test_result_of_each_marker_is_stored_with_its_position(db: Database) -> None:
    one = await session(db)
    lines = stream("first\n" + MARKERS[0], {"type": "user"}, f"{MARKERS[4]}\n{MARKERS[5]}")

    await took(db, one, lines)

    found = (await marker_results.page(db, one.id, limit=200)).items
    assert [
        (each.offset, each.item, each.line, each.state, each.outcome, each.memory_id)
        for each in found
    ] == [
        (lines[0].start, 0, 1, "taken", "learned", 1),
        (lines[2].start, 0, 0, "ignored", "", None),
        (lines[2].start, 0, 1, "refused", "recorded", None),
    ]
    assert [each.reason for each in found][:2] == ["no similar memory", "in code"]


async def test_only_assistant_text_is_parsed_for_markers(db: Database) -> None:
    marker = MARKERS[0]
    block = [{"type": "text", "text": marker}]
    lines = stream(
        {"type": "user", "message": {"content": block}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": marker}]}},
        {"type": "system", "subtype": "init", "text": marker},
        {"type": "assistant", "parent_tool_use_id": "x", "message": {"content": block}},
        {"type": "assistant", "message": {"model": "<synthetic>", "content": block}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": marker}]}},
        {**RESULT, "result": marker},
        {"type": "odd", "message": {"content": block}},
    )

    await took(db, await session(db), [*lines, Line(9_000, 9_100, marker.encode())])

    assert (await held(db), await rows(db, "markers")) == ([], [])


async def test_ingestion_from_the_offset_repeats_nothing(db: Database) -> None:
    one, two = await session(db), await session(db)
    lines = stream(*MARKERS, *MARKERS[:1], RESULT)

    await took(db, one, lines)
    for line in lines:
        await took(db, two, [line])

    first, second = await sessions.get(db, one.id), await sessions.get(db, two.id)
    assert first
    assert second
    assert (first.log_offset, second.log_offset) == (lines[-1].end, lines[-1].end)
    assert (first.events, first.ignored) == (second.events, second.ignored)
    # the second one says in other portions what the first one said: it reinforces that once
    assert (first.learned, second.learned, second.reinforced) == (1, 0, 1)
    assert [each.confidence for each in await held(db)] == [after(UP)]


@pytest.mark.parametrize("at", range(len(MARKERS)))
async def test_crash_within_a_transaction_stores_neither_rows_nor_offset(
    db: Database, url: str, at: int
) -> None:
    one = await session(db)
    lines = stream(*MARKERS)
    before = await state(db)
    soon = f"(SELECT count(*) FROM markers) = {at}"
    direct_writes.refuse(url, "INSERT ON markers", "crash", only_if=soon)

    with pytest.raises(driver.DatabaseError, match="crash"):
        await took(db, one, lines)
    assert await state(db) == before

    direct_writes.allow(url, "markers")
    await took(db, one, lines)
    assert [each.observation for each in await held(db)] == ["Takes 60s to start"]
    assert len(await rows(db, "markers")) == len(MARKERS)


@pytest.mark.parametrize("at", range(len(MARKERS) + 1))
async def test_crash_between_transactions_loses_and_repeats_nothing(
    db: Database, url: str, at: int
) -> None:
    lines = stream("\n".join([*MARKERS, MARKERS[0]]), RESULT)
    await took(db, await session(db), lines)
    expected = await found_in(db, 1)
    one = await session(db)
    printed = f"(SELECT count(*) FROM markers WHERE session_id = {one.id})"
    direct_writes.refuse(url, "INSERT ON markers", "crash", only_if=f"{printed} = {at}")

    with pytest.raises(driver.DatabaseError, match="crash"):
        await took(db, one, lines, pace=Pace(seconds=0))
    direct_writes.allow(url, "markers")
    half = await sessions.get(db, one.id)
    assert half
    assert (half.log_offset, half.log_step) == (0, at)
    await took(db, half, lines)

    assert await found_in(db, one.id) == expected
    ended = await sessions.get(db, one.id)
    assert ended
    assert (ended.log_offset, ended.log_step) == (lines[-1].end, 0)


async def found_in(db: Database, session_id: int) -> list[tuple[Any, ...]]:
    """Return the outcomes of a session's markers, and its counts."""
    page = await marker_results.page(db, session_id, limit=200)
    held = await sessions.get(db, session_id)
    assert held
    uses = [each["action"] for each in await rows(db, "cooldowns") if each["session_id"] == held.id]
    return [
        *((each.line, each.what, each.state, each.text) for each in page.items),
        (held.learned + held.reinforced, held.events, held.ignored, *uses),
    ]


async def test_other_writes_run_between_the_transactions_of_one_line(
    db: Database, url: str
) -> None:
    one = await session(db)
    many = "\n".join(f"[EVENT:info:svc] Fact number {number}" for number in range(1_000))
    feed = StepQueue(ingesting(db, one, pace=Pace(seconds=0.002)), stream(many))

    async def write_beside() -> None:
        for number in range(5):
            async with writing(other):
                await events.insert(other, Level.INFO, f"beside {number}", source="x", now=NOON)

    async with Database(url) as other:
        beside = asyncio.create_task(write_beside())
        while not beside.done():
            await ingest_some(feed, now=NOON)
        await beside

    assert not feed.empty


async def test_crash_while_storing_the_offset_stores_no_rows(db: Database, url: str) -> None:
    one = await session(db)
    before = await state(db)
    direct_writes.refuse(url, "UPDATE OF log_offset ON sessions", "crash")

    with pytest.raises(driver.DatabaseError, match="crash"):
        await took(db, one, stream(*MARKERS))

    assert await state(db) == before


async def test_markers_over_the_session_limit_are_deferred(db: Database) -> None:
    one = await session(db)
    many = [f"[MEMORY:timing:jellyfin] Fact number {number}" for number in range(10)]

    for line in stream("\n".join(many[:7]), "\n".join(many[7:])):
        await took(db, one, [line], max_markers=5)

    assert [each.observation for each in await held(db)] == [
        f"Fact number {number}" for number in range(5)
    ]
    assert [each["text"] for each in await rows(db, "events")] == [
        "Marker limit reached: 5 were ingested; the rest stay in the output file of the session."
    ]
    assert len((await marker_results.page(db, one.id, limit=200)).items) == 5
    ended = await sessions.get(db, one.id)
    assert ended
    assert (ended.markers_left, ended.left_offset, ended.left_step) == (5, 0, 5)


async def test_long_memory_is_stored_and_reported(db: Database) -> None:
    await took(db, await session(db), stream(f"[MEMORY:timing:jellyfin] {'x' * 2_001}"))

    assert [len(each.observation) for each in await held(db)] == [2_001]
    assert [(each["level"], each["text"]) for each in await rows(db, "events")] == [
        ("warning", "Memory 1 is 2,001 characters long; it was stored in full.")
    ]


async def test_too_long_memory_is_rejected_and_reported(db: Database) -> None:
    taken = await took(db, await session(db), stream(f"[MEMORY:timing:x] {'x' * 50_001}"))

    assert (await held(db), taken.learned) == ([], 0)
    (event,) = await rows(db, "events")
    assert event["text"].startswith("Memory rejected, is longer than 50,000 characters: [MEMORY:")


async def test_secrets_in_markers_are_masked_everywhere(db: Database) -> None:
    secret = "hunter2-hunter2"
    lines = stream(*(f"{each} {secret}" for each in MARKERS), f"`{MARKERS[0]} {secret}`")

    await ingest(ingesting(db, await session(db), SECRETIVE), lines, now=NOON)

    assert secret not in str(await state(db))
    assert "[REDACTED:DB_PASSWORD]" in str(await rows(db, "events"))


async def test_escalation_marker_of_the_highest_tier_needs_a_person(db: Database) -> None:
    await took(db, await session(db, tier=3), stream("[ESCALATE:caddy] Cannot be mended"))

    assert [(each["level"], each["text"]) for each in await rows(db, "events")] == [
        ("critical", "Needs a person: Cannot be mended")
    ]


async def test_services_in_markers_get_their_declared_spelling(db: Database) -> None:
    words = [each.replace("jellyfin", "JELLYFIN") for each in MARKERS[:4]]

    await took(db, await session(db), stream(*words), names=("Jellyfin",))

    for table in ("memories", "events"):
        assert {each["service"] for each in await rows(db, table)} == {"Jellyfin"}


async def test_skipped_output_line_is_reported(db: Database) -> None:
    await took(db, await session(db), [Line(0, 9, b"", "A line of 9 MB is too long.")])

    assert [each["text"] for each in await rows(db, "events")] == ["A line of 9 MB is too long."]


async def test_check_results_are_ingested_only_from_the_probe(db: Database) -> None:
    look = {"service": "caddy", "check": "web", "kind": "http", "ok": True, "status": 200}
    result = {"type": "tool_result", "content": "200"}
    line = {"type": "user", "message": {"content": [result]}, "tool_use_result": look}

    await took(db, await session(db, engine="exec"), stream(line))
    await took(db, await session(db, engine="probe"), stream(line))

    assert [
        (each["session_id"], each["service"], each["ok"]) for each in await rows(db, "checks")
    ] == [(2, "caddy", True)]


@pytest.mark.parametrize(
    ("words", "outcome", "memories", "events"),
    [
        ("[MEMORY:timing:jellyfin] Takes 60s", "learned", 1, 0),
        ("[EVENT:err] Broken", "recorded", 0, 1),
        ("[COOLDOWN:restart:jellyfin] failure - no", "claimed", 0, 1),
    ],
)
@pytest.mark.parametrize("form", ["```\n{}\n```", "> {}", 'The log says "{}"'])
async def test_marker_in_code_or_quotation_can_be_ingested_manually(
    db: Database, form: str, words: str, outcome: str, memories: int, events: int
) -> None:
    one = await session(db)
    await took(db, one, stream(form.format(words)))
    assert (await held(db), await rows(db, "events")) == ([], [])

    taken = await ignored.ingest_ignored(context(db, LATER), DEFAULTS, 1, services=Services())

    assert (taken.state, taken.outcome, taken.reason) == ("taken", outcome, "accepted by a person")
    assert (taken.version, await marker_results.get(db, 1)) == (2, taken)
    ended = await sessions.get(db, one.id)
    assert ended is not None
    assert (ended.learned, ended.events, ended.ignored) == (memories, events, 0)
    assert [(each.session_id, each.id) for each in await held(db)] == [
        (one.id, taken.memory_id)
    ] * memories


async def test_long_marker_in_code_is_ingested_completely(db: Database) -> None:
    words = "x" * 3_000
    await took(db, await session(db), stream(f"`[MEMORY:timing:jellyfin] {words}`"))

    await ignored.ingest_ignored(context(db, LATER), DEFAULTS, 1, services=Services())

    assert [each.observation for each in await held(db)] == [words]


async def test_marker_is_ingested_manually_once(db: Database) -> None:
    await took(db, await session(db), stream(MARKERS[4], MARKERS[0], MARKERS[5]))
    await ignored.ingest_ignored(context(db, LATER), DEFAULTS, 1, services=Services())
    before = await state(db)

    for mark, error in ((1, Conflict), (2, Conflict), (3, Conflict), (4, NotFound)):
        with pytest.raises(error):
            await ignored.ingest_ignored(context(db, LATER), DEFAULTS, mark, services=Services())

    assert await state(db) == before


async def test_rejected_marker_cannot_be_ingested_manually(db: Database) -> None:
    await took(db, await session(db), stream(f"`[MEMORY:timing:{'x' * 65}] Too long a name`"))
    before = await state(db)

    with pytest.raises(Conflict, match="service name"):
        await ignored.ingest_ignored(context(db, LATER), DEFAULTS, 1, services=Services())

    assert await state(db) == before


async def test_each_ingested_part_updates_the_session_in_the_feed(db: Database) -> None:
    one = await session(db)
    lines = stream(MARKERS[0], "nothing to keep", RESULT)
    for line in lines:
        await took(db, one, [line])

    told = [each for each in await rows(db, "changes") if each["entity"] == "session"]

    assert [json.loads(each["row"])["log_offset"] for each in told] == [
        0,
        *(line.end for line in lines),
    ]
    assert DEFAULTS.max_markers == 2_000
