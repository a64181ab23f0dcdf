"""An organizer run: its writes, the rows that it leaves alone, and its undo; both databases."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from benchmarks import episodes
from examples import NOON, SLOW_START, rows

from contexts import context
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory.memory import (
    Category,
    Edit,
    Memory,
    MemoryId,
    MemoryKind,
    Source,
    Trust,
)
from lamplighter.domain.memory.review import Resolution, ReviewAnswer
from lamplighter.domain.organize.digest import MAX_EPISODES
from lamplighter.domain.organize.run import ABANDONED_AFTER, RunState, StageProgress
from lamplighter.domain.verify.claims import TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.organize import runs
from lamplighter.repository.store import changes
from lamplighter.usecases.memory import curate, review
from lamplighter.usecases.organize import view
from lamplighter.usecases.organize.run import organize, preview

DAY = timedelta(days=1)
EPISODE = replace(episodes.EPISODE, project="shop")


async def captured(db: Database, text: str, *, days: float = 10, **more: Any) -> Memory:
    candidate = replace(EPISODE, observation=text, **more)
    async with writing(db):
        return await memories.insert(db, candidate, now=NOON - timedelta(days=days))


async def states(db: Database) -> Counter[tuple[Any, ...]]:
    """Return the contents and states of all memories, without their ids and versions."""
    return Counter(
        (
            row["observation"],
            row["project"],
            row["kind"],
            row["active"],
            row["inactive_reason"],
            row["distilled"],
            row["confidence"],
            row["trust"],
        )
        for row in await rows(db, "memories")
    )


async def run(db: Database, now: datetime = NOON) -> dict[str, int]:
    return dict((await organize(context(db, now), trigger="operator")).counts)


async def test_episodes_become_facts_and_digests_and_remain_as_history(db: Database) -> None:
    texts = [
        "We decided to use NATS for jobs because it is small.",
        "The build took 41 seconds.",
        "The build took 65 seconds.",
        "The build took 52 seconds.",
        "Looked at the image cache with Maria.",
    ]
    made = [await captured(db, text) for text in texts]
    young = await captured(db, "Something of yesterday", days=1)

    counts = await run(db)

    assert counts == {
        "raw": 6,
        "duplicates": 0,
        "compressed": 5,
        "digests": 2,
        "facts": 1,
        "known_facts": 0,
        "conflicts": 0,
        "raw_after": 3,
        "distilled_after": 1,
        "searched": 1,
    }
    held = {each.id: each for each in await memories.list_by_ids(db, [each.id for each in made])}
    assert {(each.active, each.inactive_reason, each.distilled) for each in held.values()} == {
        (False, "superseded", True)
    }
    still = await memories.get(db, young.id)
    assert still == replace(young, distilled=True, version=2)
    found = [each async for some in runs.active_knowledge(db) for each in some]
    new = {each.observation: each for each in found if each.source is Source.EXTRACTED}
    assert set(new) == {
        "We decided to use NATS for jobs because it is small.",
        "The build took 52 seconds (3 times, 2025-12-22; values 41 to 65).",
        "Notes of the week of 2025-12-22: We decided to use NATS for jobs because it is small. "
        "Looked at the image cache with Maria.",
    }
    assert {(e.confidence, e.trust, e.kind, e.distilled, e.project) for e in new.values()} == {
        (0.6, "unverified", "semantic", False, "shop")
    }
    diff = await view.diff(db, 1)
    assert Counter(each.what for each in diff.replacements) == {
        "compresses": 2,
        "extracted_from": 1,
    }
    assert sorted(n for e in diff.replacements for n in e.replaced if e.what == "compresses") == [
        each.id for each in made
    ]


async def test_newer_of_two_duplicates_is_kept(db: Database) -> None:
    older = await captured(db, "The deploy of checkout failed because the disk was full", days=3)
    newer = await captured(db, "The deploys of checkout failed because the disk was full", days=2)
    imported = await captured(
        db,
        "The deploy of checkout failed because the disk was full",
        days=1,
        source=Source.IMPORTED,
    )

    assert (await run(db))["duplicates"] == 1

    held = await memories.by_ids(db, [older.id, newer.id, imported.id])
    assert [held[each.id].active for each in (older, newer, imported)] == [False, True, True]
    assert (held[older.id].distilled, held[older.id].inactive_reason) == (True, "superseded")


async def test_a_second_run_changes_nothing_and_later_episodes_extend_the_digests(
    db: Database,
) -> None:
    for seconds in (41, 65, 52):
        await captured(db, f"The build took {seconds} seconds.")
    await run(db)
    before = await rows(db, "memories")

    second = await organize(context(db), trigger="schedule")

    assert (second.act_id, second.state) == (None, RunState.COMPLETED)
    assert await rows(db, "memories") == before
    await captured(db, "The build took 30 seconds.", days=9)
    third = await run(db, NOON + timedelta(hours=1))
    assert (third["digests"], third["compressed"]) == (0, 1)
    texts = [e.observation async for some in runs.active_knowledge(db) for e in some]
    assert texts == [
        "The build took 30 seconds (4 times, 2025-12-22 to 2025-12-23; values 30 to 65)."
    ]


async def test_operational_operator_and_pinned_memories_are_not_changed(db: Database) -> None:
    async with writing(db):
        for text in ("Takes 60s to start", "Takes 60s to start."):
            await memories.insert(db, replace(SLOW_START, observation=text), now=NOON - 99 * DAY)
    await curate.create(
        context(db, NOON - 99 * DAY),
        replace(EPISODE, observation="We use tabs.", source=Source.OPERATOR),
    )
    pinned = await captured(db, "Pinned by a person")
    await curate.edit(context(db), pinned.id, Edit(pinned=True), version=None)
    before = await states(db)

    counts = await run(db)

    assert (counts["compressed"], counts["duplicates"]) == (0, 0)
    assert await states(db) == before


async def test_preview_predicts_the_run_and_changes_nothing(db: Database) -> None:
    await backlog(db, MAX_EPISODES + 20)
    before = [await rows(db, name) for name in ("memories", "history", "links", "acts")]

    report = await preview(context(db))

    after = [await rows(db, name) for name in ("memories", "history", "links", "acts")]
    assert after == before
    assert report.counts["compressed"] > MAX_EPISODES // 2
    assert dict(report.counts) | {"distilled_after": 0} == await run(db) | {"distilled_after": 0}


async def test_undo_of_a_run_restores_every_memory(db: Database) -> None:
    await backlog(db, 60)
    await curate.create(
        context(db, NOON - DAY),
        replace(
            EPISODE,
            category=Category.DECISION,
            observation="We decided to use Kafka for invoices.",
            source=Source.OPERATOR,
        ),
    )
    await captured(db, "We decided not to use Kafka for invoices.")
    before, links = await states(db), await rows(db, "links")
    counts = await run(db)
    assert counts["conflicts"] == 1

    done = await view.undo(db, 1, now=NOON)

    assert done.left == 0
    assert await states(db) == before
    assert await rows(db, "links") == links
    assert {row["state"] for row in await rows(db, "reviews")} == {"resolved"}
    diff = await view.diff(db, 1)
    assert (diff.undone_by, diff.replacements) == (done.act, [])
    assert [each.state for each in diff.reviews] == ["resolved"]
    with pytest.raises(Conflict, match="already undone"):
        await view.undo(db, 1, now=NOON)


@pytest.mark.parametrize(
    ("answer", "old_active", "new_active"),
    [
        (ReviewAnswer(resolution=Resolution.KEEP_OLD), True, False),
        (ReviewAnswer(resolution=Resolution.KEEP_NEW), False, True),
        (ReviewAnswer(resolution=Resolution.BOTH, new_scope="in tests"), True, True),
        (ReviewAnswer(resolution=Resolution.DISMISS), True, True),
        (ReviewAnswer(resolution=Resolution.MERGE, observation="Kafka, but not yet"), True, False),
    ],
    ids=lambda each: getattr(each, "resolution", ""),
)
async def test_contradicting_fact_opens_a_review(
    db: Database, answer: ReviewAnswer, old_active: bool, new_active: bool
) -> None:
    old = await curate.create(
        context(db, NOON - DAY),
        replace(
            EPISODE,
            category=Category.DECISION,
            observation="We decided to use Kafka for invoices.",
            source=Source.OPERATOR,
            confidence=0.9,
        ),
    )
    await captured(db, "We decided not to use Kafka for invoices.", category=Category.DECISION)

    assert (await run(db))["conflicts"] == 1

    [case] = (await reviews.page(db, reviews.ReviewFilter(), limit=9)).items
    new = await memories.get(db, case.new_id)
    assert new is not None
    assert (case.kind, case.old_id, case.observation) == ("fact", old.id, new.observation)
    assert (new.active, new.inactive_reason) == (False, "review")
    assert (await memories.get(db, old.id)) == old
    assert (await run(db, NOON + DAY))["conflicts"] == 0
    await captured(db, "We decided not to use Kafka for invoices.", scope="global")
    assert (await run(db, NOON + DAY))["conflicts"] == 0
    assert [each["active"] for each in await rows(db, "memories")] == [1, 1, 0, 1]

    await review.resolve(context(db), case.id, answer, version=None)

    held = await memories.by_ids(db, [old.id, new.id])
    assert (held[old.id].active, held[new.id].active) == (old_active, new_active)
    assert held[old.id].confidence == 0.9
    await review.reopen(db, case.id, version=None, now=NOON)
    held = await memories.by_ids(db, [old.id, new.id])
    assert (held[old.id].active, held[new.id].active) == (True, False)
    assert held[new.id].inactive_reason == "review"


async def test_fact_is_not_compared_with_a_digest_of_several_texts(db: Database) -> None:
    decided = "We decided to use MinIO for webhooks because Amadou knows it."
    for text in ("The build of billing took 638 seconds.", decided):
        await captured(db, text, days=17)
    await run(db)
    for row in await db.fetch_all("SELECT id FROM memories WHERE topic_key IS NULL AND active = 1"):
        await curate.delete(db, row["id"], version=None, now=NOON)
    await captured(db, "We decided to use MinIO for payments because Amadou knows it.")

    counts = await run(db)

    assert (counts["facts"], counts["conflicts"]) == (1, 0)


@pytest.mark.parametrize("days", [1, 10])
async def test_contradicting_fact_of_two_episodes_opens_one_review(
    db: Database, days: float
) -> None:
    await captured(
        db, "From now on deploy on Tuesdays only.", source=Source.OPERATOR, trust=Trust.TRUSTED
    )
    for more in ("The talk about the budget was long.", "Snow fell, and lunch was cold."):
        await captured(db, f"From now on deploy on Mondays only. {more}", days=days)
    assert (await preview(context(db))).counts["conflicts"] == 1

    counts = await run(db)

    assert (counts["conflicts"], counts["known_facts"]) == (1, 1)
    [case] = await rows(db, "reviews")
    linked = [each for each in await rows(db, "links") if each["what"] == "extracted_from"]
    assert [each["memory_id"] for each in linked] == [case["new_id"]] * 2
    assert [each["active"] for each in await rows(db, "memories")] == [1, 1, 1, 0]


async def test_facts_of_recent_episodes_are_extracted_once(
    db: Database,
) -> None:
    fact = "We decided to use NATS for jobs because it is small."
    long = await captured(db, f"Read the logs of the mailer. {fact}", days=2)
    whole = await captured(db, "From now on keep invoices for 90 days.", days=1)
    typed = await captured(db, "Always run the linter first.", days=1, source=Source.OWNER)

    counts = await run(db)

    assert (counts["searched"], counts["compressed"], counts["facts"]) == (1, 1, 2)
    held = await memories.by_ids(db, [long.id, whole.id, typed.id])
    assert [(each.active, each.distilled) for each in held.values()] == [
        (True, True),
        (False, True),
        (True, False),
    ]
    [found] = [row for row in await rows(db, "memories") if row["observation"] == fact]
    assert (found["kind"], found["distilled"]) == ("semantic", 0)
    assert (await organize(context(db), trigger="operator")).act_id is None
    await curate.delete(db, MemoryId(found["id"]), version=None, now=NOON)
    later = await run(db, NOON + 8 * DAY)
    assert (later["facts"], later["compressed"], later["digests"]) == (1, 2, 1)


class Programs:
    """A source that confirms git as the only installed program."""

    async def answer(self, claims: Sequence[TextClaim], *, project: str) -> dict[TextClaim, Answer]:
        states = {True: AnswerState.CONFIRMED, False: AnswerState.REFUTED}
        return {
            each: Answer(states[each.name.endswith("git")], "programs", project) for each in claims
        }


async def test_run_can_be_undone_after_its_facts_were_verified(db: Database) -> None:
    old = await captured(db, "Remember that `git` is installed. Remember that `gti` is installed.")
    before = await states(db)
    done = await organize(context(db), trigger="operator", sources=Programs())
    assert (done.counts["facts"], done.counts["verified"], done.counts["refuted"]) == (2, 1, 1)
    found = {e.observation: e async for some in runs.active_knowledge(db) for e in some}
    passed = found["Remember that `git` is installed."]
    assert (passed.trust, passed.distilled, passed.confidence) == (Trust.TRUSTED, True, 0.9)
    assert [each["kind"] for each in await rows(db, "reviews")] == ["verification"]

    done = await view.undo(db, 1, now=NOON + DAY)

    assert (done.left, (await memories.by_ids(db, [old.id]))[old.id].active) == (0, True)
    assert await states(db) == before


async def test_episode_of_the_owner_becomes_a_semantic_memory(db: Database) -> None:
    text = "Always run the linter before you commit."
    typed = await captured(db, text, source=Source.OWNER, category=Category.PREFERENCE)

    counts = await run(db)

    assert (counts["compressed"], counts["facts"], counts["digests"]) == (1, 1, 0)
    held = await memories.get(db, typed.id)
    assert held == replace(typed, kind=MemoryKind.SEMANTIC, version=2)
    assert (await organize(context(db), trigger="operator")).act_id is None
    await curate.confirm(db, typed.id, now=NOON)
    held = await memories.get(db, typed.id)
    assert held is not None
    assert (held.kind, held.trust) == (MemoryKind.PROCEDURAL, Trust.TRUSTED)


async def test_digest_edited_by_a_person_keeps_its_text(db: Database) -> None:
    for seconds in (41, 65, 52):
        await captured(db, f"The build took {seconds} seconds.")
    await run(db)
    [digest] = [each async for some in runs.active_knowledge(db) for each in some]
    await curate.edit(context(db), digest.id, Edit(observation="Builds are slow"), version=None)
    await captured(db, "The build took 30 seconds.", days=9)

    await run(db, NOON + timedelta(hours=1))

    held = await memories.get(db, digest.id)
    assert held is not None
    assert (held.observation, held.metadata["episodes"]) == ("Builds are slow", 4)


async def test_second_run_is_refused_and_an_abandoned_run_is_continued(db: Database) -> None:
    await backlog(db, 30)
    async with writing(db):
        left = await runs.insert(db, trigger="schedule", owner="gone", act_id=1, raw=30, now=NOON)

    with pytest.raises(Conflict, match="still working"):
        await organize(context(db), trigger="operator")
    done = await organize(context(db, NOON + ABANDONED_AFTER), trigger="operator")

    assert (done.id, done.state, done.trigger) == (left.id, RunState.COMPLETED, "schedule")
    with pytest.raises(Conflict, match="continues run"):
        async with writing(db):
            await runs.record(db, left, Counter(facts=1), now=NOON)


async def test_one_of_two_concurrent_runs_is_refused(db: Database) -> None:
    await backlog(db, 30)
    both = await asyncio.gather(
        *(organize(context(db), trigger="operator") for _ in range(2)), return_exceptions=True
    )

    assert sorted(type(each).__name__ for each in both) == ["Conflict", "OrganizerRun"]


async def test_feed_and_callback_report_the_progress_of_a_run(db: Database) -> None:
    for number in range(3):
        await captured(db, f"The build took {number} seconds.")
    positions: list[tuple[str, int, int]] = []

    def report(*position: Any) -> None:
        positions.append(position)

    done = await organize(context(db, NOON), trigger="operator", progress=report)
    assert positions[0] == ("compare", 0, 3)
    assert positions[-1] == ("compress", 3, 3)
    async with writing(db):
        run = await runs.insert(
            db, trigger="operator", owner="a", act_id=done.act_id or 0, raw=0, now=NOON
        )
        for second in range(3):  # one that waits in its place is not repeated in the feed
            now = NOON + timedelta(seconds=second)
            await runs.beat(db, run, StageProgress(stage="scan", done=2, total=8), now=now)
        await runs.beat(db, replace(run, owner="b"), StageProgress(stage="verify"), now=NOON)
        await runs.finish(db, run, act_id=None, raw=0, distilled=0, now=NOON)

    told = [each for each in await changes.list_after(db, 0) if each.entity == "organizer_run"]
    assert [
        (each.entity_id, row["state"], row["stage"], row["stage_done"], row["stage_total"])
        for each in told
        if (row := each.row)
    ] == [
        (1, "running", None, 0, 0),
        (1, "completed", None, 0, 0),
        (2, "running", None, 0, 0),
        (2, "running", "scan", 2, 8),
        (2, "completed", None, 0, 0),
    ]


async def test_undo_rejects_unknown_runs_and_runs_without_changes(db: Database) -> None:
    with pytest.raises(NotFound, match="Run 1 of the organizer not found"):
        await view.undo(db, 1, now=NOON)
    await run(db)
    with pytest.raises(Conflict, match="changed nothing"):
        await view.undo(db, 1, now=NOON)


async def backlog(db: Database, count: int) -> None:
    """Store episodes of three weeks: repetitions, duplicates, facts and single notes."""
    forms = (
        "The build took {n} seconds.",
        "Looked at file{n}.py because the cache was slow.",
        "The deploy of checkout failed because the disk was full",
        "From now on keep the logs of service{n} for a month.",
    )
    for number in range(count):
        text = forms[number % 4].format(n=number)
        await captured(db, text, days=30 - number * 20 / count)
