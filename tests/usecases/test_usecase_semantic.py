"""Semantic search: the embeddings of memories, catching up, and results."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Candidate, Category, Memory
from lamplighter.domain.search.search import NoSemanticSearch, SearchMethod, SearchRequest
from lamplighter.domain.search.semantic import IndexProgress, embedding_text
from lamplighter.embedding import Vector
from lamplighter.embedding.minilm import MiniLM
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import memories, trash
from lamplighter.repository.memory.history import ChangeOrigin
from lamplighter.repository.search import embeddings
from lamplighter.repository.store import tables
from lamplighter.usecases.search import semantic
from lamplighter.usecases.search.embed import BATCH_SIZE, Embedder
from lamplighter.usecases.search.find import find
from lamplighter.usecases.search.semantic import SemanticSearch

GONE = ChangeOrigin(cause="deleted", actor="operator")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

SLOW = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes a minute before it answers after a restart",
    tier=1,
    session_id=None,
)
POOL = replace(
    SLOW,
    category=Category.DECISION,
    service=None,
    project="shop",
    observation="The pool of connections is limited to 40",
)
CAKE = replace(SLOW, service="ovens", observation="Chocolate cake wants 40 minutes in the oven")
ASKED = "slow to come up again"


async def kept(db: Database, *candidates: Candidate) -> list[Memory]:
    async with writing(db):
        return [await memories.insert(db, each, now=NOON) for each in candidates]


async def caught_up(embedder: Embedder) -> None:
    await embedder.begin()
    while await embedder.step():
        pass


@pytest.fixture
def embedder(db: Database, model: MiniLM) -> Embedder:
    return Embedder(db, model, lambda: NOON)


@pytest.fixture
async def near(db: Database, model: MiniLM) -> SemanticSearch:
    near = SemanticSearch(db, model, within=60, enough=0)
    await near.prepare()
    return near


async def test_semantic_search_finds_similar_meaning_in_other_words(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    cake, slow, pool = await kept(db, CAKE, SLOW, POOL)
    await caught_up(embedder)

    found = await near(ASKED)

    assert found[0][0] == slow.id
    assert {number for number, _ in found} == {cake.id, slow.id, pool.id}
    assert found == sorted(found, key=lambda each: -each[1])
    assert near.progress == IndexProgress(3, 3)


async def test_semantic_search_applies_the_filters(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    cake, slow, pool = await kept(db, CAKE, SLOW, POOL)
    await caught_up(embedder)

    async def numbers(**wanted: object) -> set[int]:
        return {each for each, _ in await near(ASKED, request=SearchRequest(query=ASKED, **wanted))}  # type: ignore[arg-type]

    assert await numbers(project="shop") == {pool.id}
    assert await numbers(service="ovens") == {cake.id}
    assert await numbers(service="ovens", general=True) == {cake.id, pool.id}
    assert await numbers(categories=(Category.TIMING,)) == {cake.id, slow.id}


async def test_semantic_search_compares_only_the_given_memories(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    cake, _, pool = await kept(db, CAKE, SLOW, POOL)
    await caught_up(embedder)

    found = await near(ASKED, [pool.id, cake.id, 99])

    assert {number for number, _ in found} == {pool.id, cake.id}


async def test_semantic_search_follows_new_edited_and_deleted_memories(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    (cake,) = await kept(db, CAKE)
    await caught_up(embedder)
    await near(ASKED)

    (slow,) = await kept(db, SLOW)
    async with writing(db):
        changed = replace(cake, observation="A minute passes until it answers again", version=2)
        await memories.update(db, changed, now=NOON)
    assert [number for number, _ in await near(ASKED)] == []  # of these words nothing is kept yet
    while await embedder.step():
        pass
    assert {number for number, _ in await near(ASKED)} == {cake.id, slow.id}

    async with writing(db):
        await trash.move(db, [slow.id], GONE, now=NOON, alone=True)
    assert [number for number, _ in await near(ASKED)] == [cake.id]
    assert await embeddings.vectors(db, near.embedding.name, [slow.id]) == []


async def test_excluded_memories_are_left_out_immediately(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    (slow,) = await kept(db, SLOW)
    await caught_up(embedder)
    active = SearchRequest(query=ASKED)
    assert [number for number, _ in await near(ASKED, request=active)] == [slow.id]

    async with writing(db):
        await memories.update(db, replace(slow, active=False, version=2), now=NOON)

    assert await near(ASKED, request=active) == []
    assert len(await near(ASKED, request=replace(active, active=None))) == 1


async def test_rows_written_outside_the_app_are_embedded(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    await caught_up(embedder)
    row = {"category": "timing", "observation": SLOW.observation, "created_at": NOON}
    async with writing(db):
        await db.execute(sa.insert(tables.memories).values(**row, **BY_HAND))

    assert await embedder.step()

    assert len(await near(ASKED)) == 1


async def test_embedder_continues_and_embeds_nothing_twice(
    db: Database, embedder: Embedder, model: MiniLM
) -> None:
    await kept(db, *(replace(CAKE, observation=f"Cake {number}") for number in range(70)))
    await embedder.begin()
    await embedder.step()
    assert await embedder.progress() == IndexProgress(BATCH_SIZE, 70)

    other = Embedder(db, model, lambda: NOON)
    await caught_up(other)

    assert other.done == 70 - BATCH_SIZE
    assert await other.progress() == IndexProgress(70, 70)
    await caught_up(embedder)
    assert embedder.done == BATCH_SIZE


async def test_vector_of_another_model_is_replaced(
    db: Database, embedder: Embedder, near: SemanticSearch, model: MiniLM
) -> None:
    await kept(db, SLOW)
    await caught_up(Embedder(db, Renamed(model), lambda: NOON))
    assert await near(ASKED) == []

    await caught_up(embedder)

    assert len(await near(ASKED)) == 1
    async with reading(db):
        assert len(await db.fetch_all(sa.select(tables.embeddings))) == 1


async def test_memory_edited_during_embedding_is_embedded_again(
    db: Database, model: MiniLM, near: SemanticSearch
) -> None:
    (slow,) = await kept(db, SLOW)

    class Meanwhile(Renamed):
        async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
            now = replace(slow, observation="Bakes cakes", version=2)
            async with writing(db):
                await memories.update(db, now, now=NOON)
            return await self.model.embed(texts, aside=aside)

    embedder = Embedder(db, Meanwhile(model, model.name), lambda: NOON)
    await embedder.begin()
    await embedder.step()
    assert embedder.done == 0

    while await embedder.step():
        pass

    assert embedder.done == 1
    ((number, nearness),) = await near("Bakes cakes")
    assert number == slow.id
    assert nearness > 0.5


async def test_feed_gap_reloads_all_vectors(
    db: Database, embedder: Embedder, near: SemanticSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kept(db, SLOW)
    await caught_up(embedder)
    await near(ASKED)
    monkeypatch.setattr(semantic, "MAX_FOLLOWED", 2)

    await kept(db, *(replace(CAKE, observation=f"Cake {number}") for number in range(5)))
    await caught_up(embedder)

    assert len(await near(ASKED)) == 6


async def test_semantic_search_is_unavailable_while_many_vectors_are_missing(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    await kept(db, SLOW)
    await caught_up(embedder)
    await kept(db, CAKE)
    near.enough = 0.9

    with pytest.raises(Unavailable):
        await near(ASKED)

    await caught_up(embedder)
    near = SemanticSearch(db, near.embedding, within=60)
    await near.prepare()
    assert len(await near(ASKED)) == 2


async def test_search_without_a_model_uses_keywords_and_reports_missing_vectors(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    (slow,) = await kept(db, SLOW)
    await caught_up(embedder)
    wanted = SearchRequest(query="a minute of patience, rebooted machine")

    with_meaning = await find(db, wanted, now=NOON, near=near, seconds=60)
    without = await find(db, wanted, now=NOON, near=NoSemanticSearch("not installed"), seconds=60)
    off = await find(db, wanted, now=NOON, seconds=60)

    assert [each.row.id for each in with_meaning.results] == [slow.id]
    assert "meaning" in {reason.what for reason in with_meaning.results[0].reasons}
    assert (without.missing, without.partial) == (("vectors",), False)
    assert (off.missing, with_meaning.missing) == ((), ())
    assert off.memories == without.memories == [slow]


async def test_result_without_common_words_has_method_meaning(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    _, slow = await kept(db, CAKE, SLOW)
    await caught_up(embedder)

    found = await find(db, SearchRequest(query="sluggish boot"), now=NOON, near=near, seconds=60)

    assert [(each.row.id, each.method) for each in found.results] == [
        (slow.id, SearchMethod.MEANING)
    ]
    assert found.holds_no_word
    assert found.results[0].score == pytest.approx(sum(e.score for e in found.results[0].reasons))


class Waited(MiniLM):
    """The model on a slow machine: it responds when `go` is set."""

    def __init__(self, model: MiniLM) -> None:
        super().__init__()
        self.model, self.go, self.asked = model, asyncio.Event(), list[str]()

    @property
    def loaded(self) -> bool:
        return self.model.loaded

    async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
        self.asked += [] if aside else texts
        await self.go.wait()
        return await self.model.embed(texts, aside=aside)


async def test_repeated_query_after_a_timeout_uses_the_finished_vector(
    db: Database, embedder: Embedder, model: MiniLM
) -> None:
    (slow,) = await kept(db, SLOW)
    await caught_up(embedder)
    slowly = Waited(model)
    slowly.go.set()
    near = SemanticSearch(db, slowly, within=0.01, enough=0)
    await near.prepare()
    slowly.go.clear()

    with pytest.raises(TimeoutError):
        await near(ASKED)
    slowly.go.set()
    near.within = 60
    found = await near(ASKED)

    assert [number for number, _ in found] == [slow.id]
    assert slowly.asked == [ASKED]


async def test_search_does_not_wait_for_a_loading_model(
    db: Database, embedder: Embedder, model: MiniLM
) -> None:
    (slow,) = await kept(db, SLOW)
    await caught_up(embedder)
    slowly = Waited(model)
    near = SemanticSearch(db, slowly, within=60, enough=0)

    async with asyncio.timeout(30):
        first = await find(db, SearchRequest(query="restart"), now=NOON, near=near, seconds=3_600)
    slowly.go.set()
    await near.prepare()
    second = await find(db, SearchRequest(query="restart"), now=NOON, near=near, seconds=3_600)

    assert ([each.row.id for each in first.results], first.partial) == ([slow.id], True)
    assert first.missing == ("vectors",)
    assert (second.partial, second.missing) == (False, ())


async def test_unusable_model_ends_the_embedder_with_its_problem(
    db: Database, model: MiniLM
) -> None:
    class Broken(Renamed):
        async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
            raise Unavailable("model.onnx is not the file it should be")

    await kept(db, SLOW)
    embedder = Embedder(db, Broken(model), lambda: NOON)

    async with asyncio.timeout(30):
        await embedder.run()

    assert embedder.problem == "model.onnx is not the file it should be"


class Renamed:
    """The model under another name."""

    dimensions = MiniLM.dimensions
    loaded = True

    def __init__(self, model: MiniLM, name: str = "another") -> None:
        self.model, self.name = model, name

    async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
        return await self.model.embed(texts, aside=aside)

    def close(self) -> None:
        """Leave the model open, which belongs to the test."""


BY_HAND = {"updated_at": NOON, "confidence": 0.7}


async def test_embedder_stores_vectors_in_small_steps(db: Database, embedder: Embedder) -> None:
    await kept(db, *(replace(SLOW, observation=f"Fact {number}") for number in range(20)))
    await embedder.begin()

    await embedder.step()

    assert 0 < embedder.done <= 8
    assert await embedder.progress() == IndexProgress(embedder.done, 20)


async def test_nearness_is_adjusted_for_the_length_of_a_text(
    db: Database, embedder: Embedder, near: SemanticSearch, model: MiniLM
) -> None:
    text = "To bring the ledger back load last night's dump and compare the row counts. " * 9
    short, long = await kept(
        db,
        replace(SLOW, service=None, observation="Backups of the ledger?"),
        replace(SLOW, service=None, observation=text),
    )
    await caught_up(embedder)

    found = dict(await near(ASKED))

    texts = (
        embedding_text(service=None, title="", observation=each.observation)
        for each in (short, long)
    )
    query, one, other = await model.embed([ASKED, *texts])
    assert found[short.id] == pytest.approx(float(query @ one), abs=0.01)
    assert found[long.id] == pytest.approx(float(query @ other) * 8**0.15, abs=0.01)


async def test_keywords_rank_long_texts_beyond_the_embedded_part(
    db: Database, embedder: Embedder, near: SemanticSearch
) -> None:
    baking = "Melt the butter, add sugar and flour, and leave the cake in the oven for an hour. "
    _, page, short = await kept(
        db,
        replace(CAKE, observation="The domain of the shop expired"),
        replace(CAKE, service=None, observation=f"{baking * 40}The checkout certificate expired."),
        replace(CAKE, service=None, observation="Who renews the checkout certificate?"),
    )
    await caught_up(embedder)

    found = await find(
        db, SearchRequest(query="checkout certificate expired"), now=NOON, near=near, seconds=60
    )

    assert found.memories[:2] == [page, short]
