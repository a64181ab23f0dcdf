"""Relationships that a model found: a person confirms each, or the graph stays unchanged."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import NOON, rows
from test_usecase_organize_model import EPISODE, active, fill, number_of, run, selector

from contexts import context
from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.knowledge import revise
from lamplighter.domain.memory.memory import Category, Edit, Source
from lamplighter.domain.memory.review import Resolution, ReviewAnswer
from lamplighter.repository import Database, writing
from lamplighter.repository.graph import relationships
from lamplighter.repository.graph.relationships import RelationshipFilter
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.usecases.graph import view as graph_view
from lamplighter.usecases.graph.follow import follow
from lamplighter.usecases.memory import curate, review
from lamplighter.usecases.organize import propose, view
from lamplighter.usecases.organize.run import preview
from messages_api import Asked, MessagesApi, Turn, says

USES = "Checkout keeps the carts of all shops in Redis, with a copy on disk."
OWNS = "Since the merger Priya answers for everything around Search Gateway."
CLAIMS = {USES: ("Checkout", "uses", "Redis"), OWNS: ("Priya", "works_on", "Search Gateway")}
WRONG = (
    ("Checkout", "deletes", "Redis"),
    ("Checkout", "uses", "PostgreSQL"),
    ("Redis", "replaces", "redis"),
    ("all", "uses", "Redis"),
    ("Checkout uses Redis", "uses", "Redis"),
    ("", "uses", "Redis"),
    ("Checkout keeps the carts of all shops in Redis, with a copy on disk", "uses", "Redis"),
)


def relates(claims: dict[str, tuple[str, str, str]], *more: dict[str, Any]) -> Any:
    """Return a script that states relationships of sentences, and some without a sentence."""

    def answer(asked: Asked) -> Turn:
        stated = [
            {"sentence": number_of(asked, text), "source": s, "kind": k, "target": t}
            for text, (s, k, t) in claims.items()
        ]
        return says(json.dumps({"facts": [], "summary": [], "relationships": [*stated, *more]}))

    return answer


def states_wrong(asked: Asked) -> Turn:
    number = number_of(asked, USES)
    stated = [{"sentence": number, "source": s, "kind": k, "target": t} for s, k, t in WRONG]
    return relates({}, *stated, {**stated[0], "kind": "uses", "sentence": 99})(asked)


SCENARIOS = {
    "relates": relates(CLAIMS),
    "relates_again": relates({USES.replace("all shops", "most shops"): CLAIMS[USES]}),
    "relates_wrong": states_wrong,
    "relates_owner": relates({OWNS: CLAIMS[OWNS]}),
    "relates_uses": relates({USES: CLAIMS[USES]}),
}


@pytest.fixture(scope="module")
def api() -> Iterator[MessagesApi]:
    with MessagesApi(SCENARIOS) as api:
        yield api


async def graph(db: Database) -> list[tuple[str, str, str, str, float]]:
    """Update the graph from the memories, and return its current relationships."""
    while await follow(db, None, now=NOON):
        pass
    found = await relationships.page(db, RelationshipFilter(), limit=50)
    names = {row["id"]: row["name"] for row in await rows(db, "entities")}
    return [
        (
            names[each.source_id],
            each.kind.value,
            names[each.target_id],
            each.source,
            each.confidence,
        )
        for each in reversed(found.items)
    ]


async def decide(db: Database, number: int, resolution: Resolution) -> None:
    await review.resolve(context(db), number, ReviewAnswer(resolution=resolution), version=None)


async def test_relationship_of_a_model_is_added_once_confirmed_by_a_person(
    db: Database, api: MessagesApi
) -> None:
    await fill(db, (USES, OWNS))

    counts = await run(db, selector(api, "relates"))

    facts = await active(db)
    assert {each.category for text, each in facts.items() if text in CLAIMS} == {
        "architecture",
        "discovery",
    }
    opened = (await view.diff(db, 1)).reviews
    assert [(each.kind, each.observation, each.reason) for each in opened] == [
        ("relationship", "Checkout uses Redis", "Found by model-relates in organizer run 1"),
        (
            "relationship",
            "Priya works_on Search Gateway",
            "Found by model-relates in organizer run 1",
        ),
    ]
    assert (counts["model_relationships"], counts.get("model_dropped")) == (2, None)
    assert await graph(db) == []
    assert await rows(db, "entities") == []
    await decide(db, 1, Resolution.KEEP_NEW)
    await decide(db, 2, Resolution.KEEP_OLD)
    confirmed = ("Checkout", "uses", "Redis", "model", 0.6)
    assert await graph(db) == [confirmed]
    checkout = await graph_view.find_entity(db, "checkout")
    case = await graph_view.entity_case(db, checkout)
    assert [each.id for each in case.evidence[case.relationships[0].id]] == [facts[USES].id]
    await review.reopen(db, 1, version=None, now=NOON)
    assert await graph(db) == []
    await decide(db, 1, Resolution.KEEP_NEW)
    assert await graph(db) == [confirmed]
    await curate.edit(
        context(db), facts[USES].id, Edit(observation="Checkout uses a file."), version=None
    )
    assert await graph(db) == []


async def test_edit_of_a_confirmed_sentence_opens_a_new_review(
    db: Database, api: MessagesApi
) -> None:
    await fill(db, (USES, OWNS))
    await run(db, selector(api, "relates"))
    number, later = (await active(db))[USES].id, NOON + timedelta(hours=1)

    async def edit(text: str) -> None:
        wanted = Edit(observation=text)
        await curate.edit(context(db, later), number, wanted, version=None)

    async def states() -> list[tuple[str, str | None]]:
        await graph(db)
        found = await reviews.page(db, ReviewFilter(), limit=9)
        mine = [each for each in reversed(found.items) if each.old_id == number]
        return [(each.reason[:14], each.resolution) for each in mine]

    await decide(db, 1, Resolution.KEEP_NEW)
    await edit(f"{USES} It has a page.")
    confirmed = [("Checkout", "uses", "Redis", "model", 0.6)]
    assert await graph(db) == confirmed
    await edit(USES.replace("keeps", "no longer keeps"))
    assert await graph(db) == []
    found = ("Found by model", "keep_new")
    assert await states() == [found, ("The memory was", None)]
    await edit(USES)
    assert await graph(db) == confirmed
    assert await states() == [found, ("The memory was", "gone")]
    await edit(USES.replace("keeps", "now keeps"))
    assert await states() == [found, ("The memory was", "gone"), ("The memory was", None)]
    answer = ReviewAnswer(resolution=Resolution.KEEP_NEW)
    await review.resolve(context(db, later + timedelta(hours=1)), 4, answer, version=None)
    assert await graph(db) == confirmed
    later += timedelta(hours=2)
    await edit(USES)  # both sentences are confirmed now
    assert [await follow(db, None, now=NOON) for _ in range(4)][-1] is False, "it never ends"
    assert await graph(db) == confirmed


async def test_recent_episodes_are_read_once_per_text(db: Database, api: MessagesApi) -> None:
    day = timedelta(days=1)
    first = replace(EPISODE, observation="Looked at the carts.", topic_key="carts")
    async with writing(db):
        kept = await memories.insert(db, first, now=NOON - 2 * day)
        await memories.insert(db, replace(EPISODE, observation=OWNS), now=NOON - day)
    assert (await run(db, selector(api, "relates_owner")))["model_relationships"] == 1
    assert "model_requests" not in await run(db, selector(api, "relates_owner"))

    async with writing(db):
        read = (await memories.list_by_ids(db, [kept.id]))[0]
        changed = revise(read, replace(first, observation=USES), now=NOON)
        await memories.update(db, changed, now=NOON)

    assert (await run(db, selector(api, "relates_uses")))["model_relationships"] == 1
    assert "model_requests" not in await run(db, selector(api, "relates_uses"))
    found = await reviews.page(db, ReviewFilter(), limit=9)
    assert [each.observation for each in found.items] == [
        "Checkout uses Redis",
        "Priya works_on Search Gateway",
    ]


async def test_known_and_rejected_relationships_are_not_proposed_again(
    db: Database, api: MessagesApi
) -> None:
    await fill(db, (USES, OWNS))
    await run(db, selector(api, "relates"))
    await decide(db, 1, Resolution.KEEP_OLD)
    before = await rows(db, "reviews")
    assert "model_requests" not in await run(db, selector(api, "relates"))
    again = USES.replace("all shops", "most shops")
    await fill(db, (again, OWNS))

    counts = await run(db, selector(api, "relates_again"))

    assert counts["model_requests"] == 1
    assert "model_relationships" not in counts
    assert await rows(db, "reviews") == before


async def test_undo_of_a_run_withdraws_its_relationships(db: Database, api: MessagesApi) -> None:
    known = replace(EPISODE, category=Category.ARCHITECTURE, source=Source.OPERATOR)
    async with writing(db):
        await memories.insert(db, replace(known, observation=USES), now=NOON)
    await fill(db, (USES, OWNS))
    assert (await run(db, selector(api, "relates")))["known_facts"] == 1
    await decide(db, 2, Resolution.KEEP_NEW)
    assert len(await graph(db)) == 1

    await view.undo(db, 1, now=NOON)

    assert await graph(db) == []
    found = await rows(db, "reviews")
    assert [(each["resolution"], each["resolved_by"]) for each in found] == [
        ("gone", "undo"),
        ("keep_new", "operator"),
    ]
    with pytest.raises(Conflict, match="was undone"):
        await review.reopen(db, found[0]["id"], version=None, now=NOON)
    assert (await run(db, selector(api, "relates")))["model_relationships"] == 2


async def test_relationships_not_stated_in_a_sentence_are_dropped(
    db: Database, api: MessagesApi
) -> None:
    await fill(db, (USES,))

    counts = await run(db, selector(api, "relates_wrong"))

    assert (counts["model_dropped"], counts.get("model_facts")) == (len(WRONG) + 1, None)
    assert await rows(db, "reviews") == []


async def test_open_relationship_reviews_are_limited(
    db: Database, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propose, "MAX_OPEN", 1)
    await fill(db, (USES, OWNS))

    counts = await run(db, selector(api, "relates"))

    assert (counts["model_relationships"], counts["model_dropped"]) == (1, 1)
    assert len(await rows(db, "reviews")) == 1


async def test_preview_counts_model_requests_and_sends_none(db: Database, api: MessagesApi) -> None:
    await fill(db, tuple(f"Looked at part{n} of the image cache of {n} again." for n in range(205)))

    found = await preview(context(db), asks=True)

    assert found.counts["model_requests"] == 5
    assert "model_requests" not in (await preview(context(db))).counts
