"""Keyword results are complete, even on a slow machine; the deadline cuts the rest."""

from datetime import UTC, datetime

import pytest

import direct_writes
from contexts import WINDOW, context
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Candidate, Category, Memory, Source
from lamplighter.domain.search.search import SearchRequest
from lamplighter.domain.sessions.summary import Message
from lamplighter.repository import Database
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.search import find as finding
from lamplighter.usecases.search.find import find

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OUT_OF_TIME = 0.0
"""Seconds: the time that is left on a slow machine after all earlier steps."""


async def keep(db: Database, words: str) -> Memory:
    candidate = Candidate(
        category=Category.DECISION,
        service=None,
        observation=words,
        tier=0,
        session_id=None,
        source=Source.CLIENT,
        project="shop",
    )
    return (await knowledge.save(context(db), candidate, window=WINDOW)).memory


async def end_session(db: Database, words: str) -> int:
    opening = client_sessions.NewSession(external_id="talk", project="shop")
    session, _ = await client_sessions.start(db, opening, now=NOON)
    said = [Message("user", words), Message("assistant", "Done.")]
    await client_sessions.end(context(db), "talk", said)
    return session.id


async def test_small_store_is_searched_completely_after_the_deadline(db: Database) -> None:
    kept = [await keep(db, f"Fact {number} about the WAL mode") for number in range(26)]
    session = await end_session(db, "Turn the WAL mode on")
    wanted = SearchRequest(query="WAL mode", project="shop", limit=50)

    found = await find(db, wanted, now=NOON, seconds=OUT_OF_TIME)

    assert {each.id for each in found.memories} == {each.id for each in kept}
    assert session in {each.row.id for each in found.results if each.layer == "session"}
    assert (found.partial, found.missing) == (False, ())


async def test_large_store_search_after_the_deadline_reports_omitted_layers(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = await keep(db, "The WAL mode is on")
    await end_session(db, "Turn the WAL mode on")
    monkeypatch.setattr(finding, "SMALL_STORE", 0)

    found = await find(db, SearchRequest(query="WAL mode"), now=NOON, seconds=OUT_OF_TIME)

    assert (found.memories, found.partial, found.missing) == ([kept], True, ("session", "page"))
    assert found.left_out == (
        "Not searched in time: session summaries, pages of the notebook. "
        "Search again to include it."
    )


async def test_search_without_any_result_in_time_raises(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(db, "The WAL mode is on")
    monkeypatch.setattr(finding, "PATIENCE_SECONDS", OUT_OF_TIME)

    with pytest.raises(Unavailable, match="overloaded"):
        await find(db, SearchRequest(query="WAL mode"), now=NOON)


async def test_search_within_a_transaction_reports_unindexed_rows(db: Database, url: str) -> None:
    kept = await keep(db, "The WAL mode is on")
    direct_writes.run(url, "UPDATE memories SET title = 'Journal'")

    async with db.transaction(readonly=True):
        within = await find(db, SearchRequest(query="WAL journal"), now=NOON)
    after = await find(db, SearchRequest(query="journal"), now=NOON)

    assert ([each.id for each in within.memories], within.missing) == ([kept.id], ("unindexed",))
    assert ([each.id for each in after.memories], after.partial) == ([kept.id], False)
