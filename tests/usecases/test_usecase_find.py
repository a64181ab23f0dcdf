"""The search: complete, the same on both databases, and never late."""

import asyncio
import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import direct_writes
from contexts import WINDOW, context
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Candidate, Category, Memory, MemoryKind, Source
from lamplighter.domain.search.search import (
    SearchLayer,
    SearchMethod,
    SearchRequest,
    SearchResult,
    SearchResults,
)
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.summary import Message
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories, trash
from lamplighter.repository.memory.history import ChangeOrigin
from lamplighter.repository.search import index
from lamplighter.repository.services import events
from lamplighter.repository.store.tables import memories as memories_
from lamplighter.repository.store.tables import terms
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.search import find as finding
from lamplighter.usecases.search.session_search import find

GONE = ChangeOrigin(cause="deleted", actor="operator")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OPEN = Redactor()
LONG = 10.0
"""Seconds: these tests are not about deadlines."""


async def keep(db: Database, observation: str, **more: Any) -> Memory:
    given = {"category": Category.DECISION, "service": None, "tier": 0, "session_id": None}
    candidate = Candidate(observation=observation, **{**given, **more})
    async with writing(db):
        return await memories.insert(db, candidate, now=NOON)


async def ask(db: Database, query: str, **more: Any) -> SearchResults:
    return await find(db, SearchRequest(query=query, **more), now=NOON + DAY, seconds=LONG)


async def test_metadata_narrows_a_search(db: Database) -> None:
    one = await keep(db, "Deploys run at night", metadata={"env": "Prod", "ports": [80, 8080]})
    two = await keep(db, "Deploys run at noon", metadata={"env": "test", "net": {"zone": "a b"}})

    assert await ids(db, "meta.env:prod") == [one.id]
    assert await ids(db, "deploys meta.ports:8080 meta.env:PROD") == [one.id]
    assert await ids(db, 'deploys meta.net.zone:"a b"') == [two.id]
    assert await ids(db, "deploys meta.env:other") == []
    async with writing(db):
        await memories.update(db, dataclasses.replace(one, metadata={"env": "stage"}), now=NOON)
    assert await ids(db, "meta.env:prod") == []
    assert await ids(db, "meta.env:stage") == [one.id]


async def test_expired_memory_is_not_found(db: Database) -> None:
    over = await keep(db, "The freeze lasts until noon", expires_at=NOON + timedelta(hours=1))
    lasts = await keep(db, "The freeze was announced", expires_at=NOON + 2 * DAY)

    assert await ids(db, "freeze") == [lasts.id]
    assert sorted(await ids(db, "freeze", active=None)) == [over.id, lasts.id]


async def ids(db: Database, query: str, **more: Any) -> list[int]:
    return [each.row.id for each in (await ask(db, query, **more)).results]


def best(found: SearchResults) -> SearchResult:
    return found.results[0]


async def test_results_rank_by_matching_and_rare_terms(db: Database) -> None:
    await keep(db, "The disk is full of logs")
    rare = await keep(db, "The disk is full of thumbnails")
    await keep(db, "Logs are kept for a week")

    found = await ask(db, "is the disk full of thumbnails")

    assert best(found).row == rare
    assert len(found.results) == 2
    assert found.terms == ("disk", "full", "thumbnail")
    assert (found.partial, found.missing) == (False, ())


async def test_reasons_add_up_to_the_score(db: Database) -> None:
    await keep(db, "Restart takes a minute", service="jellyfin", title="Slow restart")

    hit = best(await ask(db, "restart of jellyfin yesterday"))

    assert hit.score == pytest.approx(sum(reason.score for reason in hit.reasons))
    assert {"restart", "jellyfin", "query names jellyfin", "from yesterday"} == {
        reason.what for reason in hit.reasons
    }
    assert [hit.text[start:end] for start, end in hit.spans] == ["Restart"]


async def test_reasons_show_words_as_typed(db: Database) -> None:
    await keep(db, "Redis is restarted by no-route-to-host")

    hit = best(await ask(db, "Redis restarting no-route-to-host"))

    told = [reason.what for reason in hit.reasons]
    assert {"Redis", "restarting", "route", "no-route-to-host"} <= set(told)
    assert "redi" not in told


async def test_symbols_are_searched_like_words(db: Database) -> None:
    fire = await keep(db, "Caddy is on 🔥 again")
    await keep(db, "Caddy is fine ✅")

    found = await ask(db, "🔥")

    assert [each.row for each in found.results] == [fire]
    assert [reason.what for reason in best(found).reasons] == ["🔥"]
    assert [best(found).text[start:end] for start, end in best(found).spans] == ["🔥"]
    assert await ids(db, '"on 🔥"') == [fire.id]
    assert fire.id not in await ids(db, "caddy -🔥")
    assert len(await ids(db, "caddy")) == 2


async def test_applied_search_filters_are_returned(db: Database) -> None:
    found = await ask(db, "service:jellyfin in:events since:7d disk", kind=MemoryKind.SEMANTIC)

    assert found.filters == ("service:jellyfin", "in:events", "since:7d")
    assert found.layers == (SearchLayer.EVENT,)
    assert (await ask(db, "disk")).layers == SearchRequest(query="").layers


async def test_title_and_tags_rank_above_the_text(db: Database) -> None:
    in_text = await keep(db, "The cache is warm")
    in_title = await keep(db, "Kept warm", title="Cache")
    in_tag = await keep(db, "Stays warm", tags=("cache",))

    assert await ids(db, "cache") == [in_title.id, in_tag.id, in_text.id]


async def test_filters_limit_the_results(db: Database) -> None:
    own = await keep(db, "Pool of ten", service="db", project="web", tags=("sql",))
    general = await keep(db, "Pool of all", project="web", category=Category.CONFIG)
    other = await keep(db, "Pool of others", service="db-2", project="api")
    everywhere = await keep(db, "Pool for everyone", project="api", scope="global")

    assert set(await ids(db, "pool", project="Web")) == {own.id, general.id, everywhere.id}
    assert await ids(db, "pool", service="DB") == [own.id]
    assert await ids(db, "pool service:general project:web type:config") == [general.id]
    assert await ids(db, "pool", service="db", general=True, project="web") == [
        own.id,
        *sorted((everywhere.id, general.id), reverse=True),
    ]
    assert await ids(db, "pool", tags=("SQL",)) == [own.id]
    assert await ids(db, "pool", kind=MemoryKind.PROJECT) == [general.id]
    assert await ids(db, "pool service:db_2") == [other.id]
    assert await ids(db, "pool", since=NOON + timedelta(hours=1)) == []
    assert len(await ids(db, "pool since:7d")) == 4


async def test_filter_without_query_lists_the_newest(db: Database) -> None:
    one, two = await keep(db, "First", service="db"), await keep(db, "Second", service="db")

    found = await ask(db, "service:db")

    assert [each.row.id for each in found.results] == [two.id, one.id]
    assert {each.method for each in found.results} == {SearchMethod.RECENT}


async def test_time_filter_without_query_lists_memories_of_that_time(db: Database) -> None:
    held = [await keep(db, f"The disk is full {number}") for number in range(3)]

    assert await ids(db, "since:2d") == [each.id for each in reversed(held)]
    assert await ids(db, "since:1h") == []
    assert await ids(db, "", since=NOON) == [each.id for each in reversed(held)]


async def test_phrase_is_required_and_minus_excludes(db: Database) -> None:
    phrase = await keep(db, "fails with no route to host")
    await keep(db, "the host has no route", title="route to")
    assert await ids(db, '"no route to host"') == [phrase.id]
    assert await ids(db, 'route -"no route to host" -title') != []
    assert phrase.id not in await ids(db, 'route -"no route to host"')


async def test_inactive_memories_are_found_only_with_the_filter(db: Database) -> None:
    low = await keep(db, "The lamp is old", confidence=0.2)
    held = await keep(db, "The lamp is new")

    assert await ids(db, "lamp") == [held.id]
    assert await ids(db, "lamp", active=False) == [low.id]
    assert set(await ids(db, "lamp", active=None)) == {low.id, held.id}

    async with writing(db):
        gone = dataclasses.replace(held, active=False, version=2)
        await memories.update(db, gone, now=NOON)
    assert await ids(db, "lamp") == []
    assert len(await ids(db, "lamp", active=None)) == 2


async def test_edited_memory_is_found_only_by_its_new_text(db: Database) -> None:
    held = await keep(db, "Uses port 80", title="Port")
    async with writing(db):
        changed = dataclasses.replace(held, observation="Uses a socket", title="", version=2)
        await memories.update(db, changed, now=NOON)

    assert await ids(db, "port") == []
    assert await ids(db, "socket") == [held.id]


async def test_deleted_memory_leaves_nothing_in_the_index(db: Database, url: str) -> None:
    session, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="s", project="web"), now=NOON
    )
    await keep(db, "Ada: before it", session_id=session.id)
    held = await keep(db, "Bob: the password is swordfish", session_id=session.id)
    assert await ids(db, "swordfish") == [held.id]
    (around,) = direct_writes.run(url, "SELECT around FROM terms WHERE id = 1")
    assert "swordfish" in around[0]

    async with writing(db):
        await trash.move(db, [held.id], GONE, now=NOON, alone=True)

    rows = direct_writes.run(url, "SELECT title, text, keys, around, scope FROM terms")
    assert "swordfish" not in str(rows)
    assert await ids(db, "swordfish") == []


async def test_neighbors_of_a_result_are_not_results(db: Database) -> None:
    one, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="a", project="x"), now=NOON
    )
    facts = [
        await keep(db, text, session_id=one.id)
        for text in ("WAL mode is on", "The port is 5432", "Backups run at night")
    ]
    talk, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="b", project="x"), now=NOON
    )
    for text in ("Ada: is the journal compact?", "Bob: yes", "Ada: good"):
        await keep(db, text, session_id=talk.id)

    hits = (await ask(db, "WAL mode")).results

    assert [each.row.id for each in hits] == [facts[0].id]
    assert {reason.what for reason in hits[0].reasons} == {"WAL", "mode"}
    assert len(await ids(db, "compact journal")) == 1


async def test_facts_of_one_session_do_not_affect_each_others_score(db: Database) -> None:
    one, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="a", project="x"), now=NOON
    )
    await keep(db, "The lamp is red", session_id=one.id)
    beside = await keep(db, "The port is 5432", session_id=one.id)
    alone = await keep(db, "The port is 5433")

    scores = {each.row.id: each.score for each in (await ask(db, "red lamp port")).results}

    assert scores[beside.id] == pytest.approx(scores[alone.id])


async def test_turn_next_to_a_matching_turn_ranks_first_with_a_reason(db: Database) -> None:
    one, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="a", project="x"), now=NOON
    )
    two, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="b", project="x"), now=NOON
    )
    for session, question in ((one, "Ada: what about the lamp?"), (two, "Ada: what about tea?")):
        await keep(db, question, session_id=session.id)
        await keep(db, "Bob: I bought a new model", session_id=session.id)

    hits = (await ask(db, "Which model of lamp?")).results

    assert [each.row.id for each in hits] == [1, 2, 4]
    assert {reason.what for reason in hits[0].reasons} == {"lamp", "next to model"}
    assert {reason.what for reason in hits[1].reasons} == {"model", "next to lamp"}
    assert [reason.what for reason in hits[2].reasons] == ["model"]


async def test_long_reply_ranks_above_short_turns_with_fewer_terms(db: Database) -> None:
    """A reply loses no rank by its length, and does not count words of the turn next to it."""
    one, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="a", project="x"), now=NOON
    )
    much = " ".join(f"step {number} of the procedure needs care." for number in range(120))
    await keep(db, "user: Write down the backup of checkout", session_id=one.id)
    reply = await keep(
        db,
        f"assistant: {much} Nightly copies of checkout are kept for 30 days in the vault. {much}",
        session_id=one.id,
    )
    await keep(db, "user: copies of checkout, who made them last time?", session_id=one.id)
    for number in range(10):
        await keep(db, f"user: note {number} on another matter", session_id=one.id)

    hits = (await ask(db, "how many days are nightly copies of checkout kept")).results

    assert best(await ask(db, "nightly copies of checkout in days")).row.id == reply.id
    assert hits[0].row.id == reply.id


async def test_title_derived_from_the_text_has_no_weight(db: Database) -> None:
    made = await keep(db, "The pool holds 40 connections", title="The pool holds 40 connections")
    none = await keep(db, "The pool holds 41 connections")
    given = await keep(db, "The pool holds 42 connections", title="Limits of the pool")

    scores = {each.row.id: each.score for each in (await ask(db, "pool connections")).results}

    assert scores[made.id] == pytest.approx(scores[none.id])
    assert scores[given.id] > scores[made.id]


async def test_memories_outside_of_client_sessions_have_no_neighbors(db: Database) -> None:
    opening = client_sessions.NewSession(external_id="manual-save-x", project="x")
    outside, _ = await client_sessions.start(db, opening, now=NOON)
    lines = [await keep(db, text, session_id=outside.id) for text in ("Alpha", "Beta")]

    assert await ids(db, "alpha") == [lines[0].id]
    assert await ids(db, "beta") == [lines[1].id]


async def test_long_text_is_found_only_by_its_own_words(db: Database) -> None:
    one, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="a", project="x"), now=NOON
    )
    line = await keep(db, "Alpha", session_id=one.id)
    page = await keep(db, "Beta " + "gamma " * 100, session_id=one.id)

    assert await ids(db, "alpha") == [line.id]
    assert await ids(db, "beta") == [page.id]


async def test_text_that_starts_with_a_date_matches_that_date(db: Database) -> None:
    told = [
        await keep(db, f"[12:30, {day} May 2023] Ada: the lamp was mended") for day in (7, 8, 9)
    ]

    assert (await ids(db, "lamp mended on 8 May 2023"))[0] == told[1].id
    found = await find(
        db, SearchRequest(query="lamp mended on 8 May"), now=datetime(2023, 6, 1, tzinfo=UTC)
    )
    assert found.memories[0].id == told[1].id
    assert "from 8 may" in [reason.what for reason in found.results[0].reasons]


async def test_rows_written_outside_the_app_are_indexed_automatically(
    db: Database, url: str
) -> None:
    columns = "service, category, observation, confidence, active, created_at, updated_at,"
    at = "'2026-01-01T12:00:00.000000Z'"
    direct_writes.run(
        url,
        f"INSERT INTO memories ({columns} session_id, tier) VALUES"
        f" ('jellyfin', 'timing', 'Takes 60s to start', 0.9, 1, {at}, {at}, NULL, 2)",
    )
    assert await ids(db, "start") == [1]

    direct_writes.run(url, "UPDATE memories SET observation = 'Starts at once' WHERE id = 1")
    assert await ids(db, "60s") == []
    assert await ids(db, "once") == [1]

    direct_writes.run(url, "DELETE FROM memories")
    assert await ids(db, "once") == []
    assert direct_writes.run(url, "SELECT count(*) FROM terms") == [(0,)]
    assert direct_writes.run(url, "SELECT sum(documents) FROM term_totals") == [(0,)]


async def test_sessions_are_found_by_their_summary_and_events_on_request(db: Database) -> None:
    session, _ = await client_sessions.start(
        db, client_sessions.NewSession(external_id="s", project="web", agent="ann"), now=NOON
    )
    said = [Message("user", "Fix the flux capacitor"), Message("assistant", "Done")]
    await client_sessions.end(context(db), "s", said)
    async with writing(db):
        event = await events.insert(
            db, Level.WARNING, "The flux is low", service="web", source="operator", now=NOON
        )

    found = await ask(db, "flux")
    assert [(each.layer, each.row.id) for each in found.results] == [
        (SearchLayer.SESSION, session.id)
    ]
    both = await ask(db, "flux in:all")
    assert {(each.layer, each.row.id) for each in both.results} == {
        (SearchLayer.SESSION, session.id),
        (SearchLayer.EVENT, event.id),
    }
    assert await ids(db, "flux in:memories") == []
    assert await ids(db, "flux type:decision") == []


async def test_term_totals_equal_the_indexed_documents(db: Database, url: str) -> None:
    for number in range(3):
        await keep(db, f"Fact {number}")
    await keep(db, "Low", confidence=0.1)

    counted = direct_writes.run(url, "SELECT documents, size FROM term_totals ORDER BY part")
    assert [row[0] for row in counted] == [3, 0, 0, 1, 0]
    (size,) = direct_writes.run(url, "SELECT sum(size) FROM terms")[0]
    assert sum(row[1] for row in counted) == pytest.approx(size)


async def test_search_accepts_any_text(sqlite: str) -> None:
    import asyncio

    async with Database(sqlite) as db:
        await keep(db, "Something is held")
        loop = asyncio.get_running_loop()

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(query=st.text(), prefix=st.sampled_from(["", "-", '"', "service:", "held "]))
        def asked(query: str, prefix: str) -> None:
            question = ask(db, prefix + query)
            found = asyncio.run_coroutine_threadsafe(question, loop).result(30)
            assert not found.partial

        await asyncio.to_thread(asked)


async def test_search_during_a_write_reports_unindexed_rows(db: Database, url: str) -> None:
    known = await keep(db, "The disk is full")
    searched = asyncio.Event()

    async def write() -> None:
        async with Database(url) as other, writing(other):
            await other.execute(sa.update(memories_).values(title="Odd"))
            began.set()
            await searched.wait()

    began = asyncio.Event()
    async with writing(db):
        await db.execute(sa.update(memories_).values(title="By hand"))
    writer = asyncio.create_task(write())
    await began.wait()
    found = await find(db, SearchRequest(query="disk"), now=NOON, seconds=1.0)
    searched.set()
    await writer

    assert [each.row.id for each in found.results] == [known.id]
    assert (found.partial, found.missing) == (True, ("unindexed",))
    assert await ids(db, "odd") == [known.id]


async def test_late_search_does_not_break_its_transaction(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = await keep(db, "Something is held")
    monkeypatch.setattr(finding, "SMALL_STORE", 0)

    async with db.transaction(readonly=True):
        late = await find(db, SearchRequest(query="held"), now=NOON, seconds=0.0)
        assert late.missing == ("session", "page")
        assert await memories.get(db, held.id) == held


async def test_common_words_are_found_among_many_memories(db: Database) -> None:
    async with writing(db):
        for number in range(450):
            await memories.insert(
                db,
                Candidate(
                    category=Category.DECISION,
                    service=None,
                    observation=f"The usual words of fact {number}",
                    tier=0,
                    session_id=None,
                ),
                now=NOON,
            )

    assert len(await ids(db, "usual words of a fact", limit=100)) == 100
    assert (await ids(db, "usual words of fact 17"))[0] == 18


class Meaning:
    """A stand-in for the model with fixed results: the only part here that is not the product."""

    def __init__(self, found: Sequence[tuple[int, float]] | Exception) -> None:
        self.found = found

    async def __call__(
        self, query: str, ids: Sequence[int] | None = None, *, request: SearchRequest | None = None
    ) -> Sequence[tuple[int, float]]:
        if isinstance(self.found, Exception):
            raise self.found
        return [each for each in self.found if ids is None or each[0] in ids]


async def test_semantic_search_finds_memories_without_common_words(db: Database) -> None:
    by_words = await keep(db, "The disk is full")
    by_meaning = await keep(db, "No space is left there")
    near = Meaning([(by_meaning.id, 0.7), (by_words.id, 0.6)])

    found = await find(db, SearchRequest(query="disk full"), now=NOON, near=near, seconds=LONG)

    assert [each.row for each in found.results] == [by_words, by_meaning]
    assert [each.method for each in found.results] == [SearchMethod.WORDS, SearchMethod.MEANING]
    for each in found.results:
        assert each.score == pytest.approx(sum(reason.score for reason in each.reasons))


@pytest.mark.parametrize("error", [TimeoutError(), Unavailable("no model")], ids=["late", "none"])
async def test_keyword_search_works_without_vectors(db: Database, error: Exception) -> None:
    held = await keep(db, "The disk is full")

    found = await find(db, SearchRequest(query="disk"), now=NOON, near=Meaning(error), seconds=LONG)

    assert [each.row for each in found.results] == [held]
    assert (found.missing, found.partial) == (("vectors",), True)


async def test_saved_knowledge_is_found_immediately(db: Database) -> None:
    candidate = Candidate(
        category=Category.BUGFIX,
        service=None,
        observation="Close the pool first",
        tier=0,
        session_id=None,
        source=Source.CLIENT,
    )
    kept = await knowledge.save(context(db), candidate, window=WINDOW)

    assert await ids(db, "closing pools") == [kept.memory.id]
    assert not await index.has_pending(db)
    assert await db.fetch_val(sa.select(sa.func.count()).select_from(terms)) == 1
