"""Model sessions: their engine, missing parts, and repeated text."""

from typing import Any

import pytest
from examples import NOON, OPEN, held, rows, session, stream

from confidences import UP, after
from contexts import ingesting
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.ingest.session_lines import ingest

TWICE = (
    "[EVENT:info:caddy] Looked",
    "[MEMORY:timing:caddy] Answers after 75s",
    "[ESCALATE:caddy] Fails since noon",
)
RESTARTED = "[COOLDOWN:restart:caddy] success - Healthy again"
CUT = {
    "type": "user",
    "isSynthetic": True,
    "message": {"content": "Output token limit hit. Resume directly."},
}


async def thinking(db: Database, **more: Any) -> Session:
    """Open a session whose tier has a model."""
    async with writing(db):
        plan = SessionPlan(tier=2, engine="claude", **more)
        return await sessions.insert(db, plan, model="claude-haiku-4-5", epoch=0, now=NOON)


async def take(db: Database, by: Session, *lines: Any) -> None:
    await ingest(ingesting(db, by, OPEN, ["caddy"]), stream(*lines), now=NOON)


async def texts(db: Database, table: str = "events") -> list[str]:
    return [row["text"] for row in await rows(db, table)]


async def test_reported_model_is_stored(db: Database) -> None:
    one = await thinking(db)

    await take(db, one, {"type": "system", "subtype": "init", "model": "claude-haiku-4-5-2025"})

    found = await sessions.get(db, one.id)
    assert found is not None
    assert found.model == "claude-haiku-4-5-2025"
    feed = [row["row"] for row in await rows(db, "changes") if row["entity"] == "session"]
    assert "claude-haiku-4-5-2025" in str(feed[-1])


async def test_engine_without_a_model_stores_no_model(db: Database) -> None:
    one = await session(db)

    await take(db, one, {"type": "system", "subtype": "init", "model": "probe"})

    found = await sessions.get(db, one.id)
    assert found is not None
    assert found.model is None


async def test_session_without_its_tools_records_a_warning(db: Database) -> None:
    one = await thinking(db)
    servers = [{"name": "lamplighter", "status": "failed"}, {"name": "b", "status": "connected"}]

    await take(db, one, {"type": "system", "subtype": "init", "mcp_servers": servers})

    assert await texts(db) == [
        "The session continues without these tools, which could not be reached: lamplighter."
    ]


async def test_markers_repeated_by_a_model_count_once(db: Database) -> None:
    one = await thinking(db)

    await take(db, one, *TWICE, CUT, *TWICE)
    await take(db, one, *TWICE)

    assert await texts(db) == [
        "Looked",
        "Escalation to tier 3: Fails since noon",
        "A model answer was cut off at its token limit; an incomplete marker is not ingested.",
    ]
    assert [each.confidence for each in await held(db)] == [0.7]
    assert len(await rows(db, "escalations")) == 1
    marked = [(row["state"], row["reason"]) for row in await rows(db, "markers")]
    assert [state for state, _ in marked] == ["taken"] * 3 + ["ignored"] * 6
    assert {reason for state, reason in marked if state == "ignored"} == {
        "repeated in this session"
    }


async def test_same_marker_of_another_session_counts(db: Database) -> None:
    for _ in range(2):
        await take(db, await thinking(db), *TWICE)

    assert (await texts(db)).count("Looked") == 2
    assert [each.confidence for each in await held(db)] == [after(UP)]


async def test_repeated_markers_of_an_engine_without_a_model_count(db: Database) -> None:
    one = await session(db)

    await take(db, one, TWICE[0], TWICE[0])

    assert await texts(db) == ["Looked", "Looked"]


@pytest.mark.parametrize("used", [1, 2])
async def test_repeated_cooldown_markers_report_each_use_once(db: Database, used: int) -> None:
    one = await thinking(db)
    async with writing(db):
        for _ in range(used):
            await cooldowns.insert(
                db,
                service="caddy",
                action="restart",
                outcome=UseOutcome.SUCCESS,
                session_id=one.id,
                tier=2,
                settled_at=NOON,
                now=NOON,
            )

    await take(db, one, RESTARTED, RESTARTED, RESTARTED)

    uses = await rows(db, "cooldowns")
    assert [row["marked"] for row in uses] == [True] * used
    assert len(await texts(db)) == used
