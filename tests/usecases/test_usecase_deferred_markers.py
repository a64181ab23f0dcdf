"""Markers over the limit are ingested later, each exactly once, after any interruption."""

import math
from pathlib import Path

import pytest
from examples import LATER, NOON, rows, session, stream

import direct_writes
from contexts import ingesting
from lamplighter.domain.errors import Conflict
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import marker_results, sessions
from lamplighter.repository.store import driver
from lamplighter.usecases.ingest.context import Pace
from lamplighter.usecases.ingest.leftover import get_leftover, ingest_leftover
from lamplighter.usecases.ingest.session_lines import ingest
from lamplighter.usecases.sessions.halt import HaltControl

FACTS = [f"[EVENT:info:svc] Fact number {number}" for number in range(9)]
THREE = ("\n".join(FACTS[:5]), "\n".join(FACTS[5:7]), "\n".join(FACTS[7:]))
BRAKE = HaltControl()


async def limited(db: Database, file: Path, *words: str) -> Session:
    """Let a session print nine markers in three lines, of which four are ingested."""
    lines = stream(*(words or THREE))
    with file.open("wb") as written:
        written.writelines(line.content + b"\n" for line in lines)
    one = await session(db)
    await ingest(
        ingesting(db, one, now=LATER, max_markers=4, pace=Pace(seconds=0)), lines, now=NOON
    )
    async with writing(db):
        await sessions.end(db, one.id, Status.COMPLETED, now=NOON)
    return await get_leftover(db, one.id)


async def facts(db: Database) -> list[str]:
    return [each["text"] for each in await rows(db, "events") if each["source"] == "marker"]


async def test_deferred_markers_are_ingested_in_order(db: Database, tmp_path: Path) -> None:
    one = await limited(db, tmp_path / "1.jsonl")
    assert (one.markers_left, one.left_offset, one.left_step) == (5, 0, 4)

    pace = Pace(seconds=math.inf)
    await ingest_leftover(ingesting(db, one, now=LATER, pace=pace), tmp_path / "1.jsonl", BRAKE)

    assert await facts(db) == [text.partition("] ")[2] for text in FACTS]
    with pytest.raises(Conflict, match="Session 1 has no more markers"):
        await get_leftover(db, one.id)


@pytest.mark.parametrize("at", range(4, 9))
async def test_crash_during_deferred_ingestion_loses_and_repeats_nothing(
    db: Database, url: str, tmp_path: Path, at: int
) -> None:
    file = tmp_path / "1.jsonl"
    one = await limited(db, file)
    direct_writes.refuse(
        url, "INSERT ON markers", "crash", only_if=f"(SELECT count(*) FROM markers) = {at}"
    )
    with pytest.raises(driver.DatabaseError, match="crash"):
        await ingest_leftover(ingesting(db, one, now=LATER, pace=Pace(seconds=0)), file, BRAKE)
    direct_writes.allow(url, "markers")

    half = await get_leftover(db, one.id)
    assert half.markers_left == 9 - at
    await ingest_leftover(ingesting(db, half, now=LATER, pace=Pace(seconds=0)), file, BRAKE)

    assert await facts(db) == [text.partition("] ")[2] for text in FACTS]
    ended = await sessions.get(db, one.id)
    assert ended
    assert (ended.markers_left, ended.events) == (0, 10)


async def test_repeated_deferred_ingestion_stores_nothing_twice(
    db: Database, tmp_path: Path
) -> None:
    file = tmp_path / "1.jsonl"
    one = await limited(db, file)

    for _ in range(2):  # both with the place that the first one saw
        await ingest_leftover(ingesting(db, one, now=LATER), file, BRAKE)

    assert len(await facts(db)) == 9


async def test_halt_pauses_deferred_ingestion(db: Database, tmp_path: Path) -> None:
    file, halt_control = tmp_path / "1.jsonl", HaltControl(tmp_path / "HALT")
    one = await limited(db, file)
    (tmp_path / "HALT").write_text("")

    await ingest_leftover(ingesting(db, one, now=LATER), file, halt_control)
    assert len(await facts(db)) == 4

    (tmp_path / "HALT").unlink()
    await ingest_leftover(ingesting(db, one, now=LATER), file, halt_control)
    assert len(await facts(db)) == 9


async def test_deferred_escalation_of_an_ended_session_is_refused(
    db: Database, tmp_path: Path
) -> None:
    file = tmp_path / "1.jsonl"
    one = await limited(db, file, *FACTS[:4], "[ESCALATE:svc] Fails since noon")

    await ingest_leftover(ingesting(db, one, now=LATER), file, BRAKE)

    assert await rows(db, "escalations") == []
    found = (await marker_results.page(db, one.id, limit=9)).items[-1]
    assert (found.state, found.reason) == (
        "refused",
        "its session has ended",
    )


async def test_deferred_ingestion_rejects_a_running_session(db: Database) -> None:
    one = await session(db)

    with pytest.raises(Conflict, match=r"is still running\. Wait until it has ended"):
        await get_leftover(db, one.id)
