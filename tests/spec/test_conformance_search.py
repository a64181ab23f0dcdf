"""Conformance, search. The ends of the names are the numbers of the cases."""

from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.search.query import sanitize_query
from lamplighter.domain.search.search import SearchMethod, SearchRequest
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.search.find import READ_LEAST
from lamplighter.usecases.search.session_search import find

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def keep(db: Database, observation: str, **more: Any) -> int:
    given = {"category": Category.DECISION, "service": None, "tier": 0, "session_id": None}
    candidate = Candidate(observation=observation, **{**given, **more})
    async with writing(db):
        return (await memories.insert(db, candidate, now=NOON)).id


async def ask(db: Database, query: str, limit: int = 10) -> list[int]:
    found = await find(db, SearchRequest(query=query, limit=limit), now=NOON, seconds=10)
    assert not found.partial
    return [each.row.id for each in found.results]


async def test_exact_word_ranks_first_and_stems_match_115(db: Database) -> None:
    wal = await keep(db, "Use WAL mode for SQLite in agentops-memory", title="Use WAL mode")
    run = await keep(db, "It deadlocks when running multiple goroutines")

    assert (await ask(db, "SQLite"))[0] == wal
    assert await ask(db, "sqlite") == [wal]
    assert (await ask(db, "run goroutine"))[0] == run


async def test_memory_with_the_exact_topic_key_ranks_first_116(db: Database) -> None:
    for number in range(5):
        await keep(db, f"config db config db pool {number}", title="config db")
    key = await keep(db, "Ten connections", topic_key="config/db")
    below = await keep(db, "Twenty connections", topic_key="config/db/pool")

    found = await find(db, SearchRequest(query="config/db"), now=NOON, seconds=10)

    assert [each.row.id for each in found.results[:2]] == [key, below]
    assert {each.method for each in found.results[:2]} == {SearchMethod.TOPIC_KEY}


async def test_topic_key_ranks_first_among_many_memories_with_its_words_116(db: Database) -> None:
    for number in range(READ_LEAST):
        await keep(db, f"Of {number}", topic_key=f"config/db/{number}", title="config/db")
    below = await keep(db, "Twenty connections of the pool", topic_key="config/db/pool")
    exact = await keep(db, "Ten connections, and no more", topic_key="config/db")
    for number in range(READ_LEAST):
        await keep(db, f"config/db {number}", title="config/db")

    found = await find(db, SearchRequest(query="config/db", limit=3), now=NOON, seconds=10)

    assert found.results[0].row.id == exact
    assert {each.method for each in found.results} == {SearchMethod.TOPIC_KEY}
    assert (await ask(db, "config/db/pool", limit=1)) == [below]


async def test_search_needs_only_one_matching_term_117(db: Database) -> None:
    auth = await keep(db, "Fix nil panic in auth middleware")
    await keep(db, "Something else")

    assert await ask(db, "auth database migration") == [auth]
    assert sanitize_query("auth database migration") == '"auth" OR "database" OR "migration"'


def test_sanitize_query_quotes_terms_and_drops_blanks_118() -> None:
    given = ['""', "   ", '"fix" auth', "a   b"]
    assert [sanitize_query(each) for each in given] == ["", "", '"fix" OR "auth"', '"a" OR "b"']


async def test_search_with_a_question_finds_its_subject_119(db: Database) -> None:
    await keep(db, "Sonarr needs the indexer to be up before it can check")
    jellyfin = await keep(db, "Jellyfin takes 60s to start after a restart")
    await keep(db, "The backup failed why nobody knows, restart it by hand")
    await keep(db, "Is it down? Look at the status page again")

    asked = "Jellyfin is down again, can you restart it and check why it failed?"
    assert (await ask(db, asked))[0] == jellyfin


@pytest.mark.parametrize("query", ["-- !!", 'a"b', "fix: (x)", "NEAR(", "*", "\0", "^x", "{a}"])
async def test_search_accepts_any_query_syntax_120(db: Database, query: str) -> None:
    await keep(db, "Something else")

    assert await ask(db, query) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("As DEC-0054 says", "DEC-0054"),
        ("Broken since 2026.4.10", "2026.4.10"),
        ("dial tcp: no-route-to-host", "no-route-to-host"),
        ("データベースの接続池", "接続"),
        ("データベースの接続池", "池"),
        ("메모리가 부족하다", "메모리"),
    ],
)
async def test_search_finds_names_versions_and_parts_of_cjk_text_121(
    db: Database, text: str, query: str
) -> None:
    held = await keep(db, text)
    await keep(db, "DEC-1 of 2025.1 has a route to another host")

    assert (await ask(db, query))[0] == held


async def test_search_for_one_character_ranks_exact_matches_first_121(
    db: Database,
) -> None:
    session, _ = await client_sessions.start(db, NewSession(external_id="a", project="x"), now=NOON)
    held = await keep(db, "データベースの接続池は二十", session_id=session.id)
    await keep(db, "Something else", session_id=session.id)

    found = await find(db, SearchRequest(query="池"), now=NOON, seconds=10)

    assert found.results[0].row.id == held
    assert found.results[0].method is SearchMethod.WORDS


async def test_the_limit_is_never_exceeded_122(db: Database) -> None:
    for number in range(3):
        await keep(db, f"Pool {number}", topic_key=f"config/db/{number}")
        await keep(db, f"config db {number}")

    assert len(await ask(db, "config/db", limit=3)) == 3
