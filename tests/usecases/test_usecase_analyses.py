"""Related memories are found whether this process, another one, or a person wrote them."""

import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from examples import LATER, NOON, SLOW_START, held, rows, said, session

import direct_writes
from confidences import DOWN, LEARNED, UP, after
from contexts import context, learning
from lamplighter.domain.memory.memory import Category, Edit, Memory
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.relate.lexicon import builtin_source, parse_lexicon
from lamplighter.domain.relate.reconcile import ReconcileOutcome
from lamplighter.repository import Database, writing
from lamplighter.repository.search.analyses import STALE_BATCH_SIZE
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.memory import bulk, curate
from lamplighter.usecases.memory.analyze import catch_up
from lamplighter.usecases.memory.bulk import BulkAction
from lamplighter.usecases.memory.remember import LearningResult, remember
from thorough import examples

MINUTE = "It needs about a minute to start after a restart"
HALF = "Takes 30s to start after restart"
STRANGE = "Keeps its thumbnails on a spare disk"
BY_HAND = (
    "INSERT INTO memories (service, category, observation, confidence, active,"
    " created_at, updated_at, session_id, tier) "
)
STAMPS = "'2026-01-01T12:00:00.000000Z', '2026-01-01T12:00:00.000000Z'"


@pytest.fixture
async def elsewhere(db: Database, url: str) -> AsyncIterator[Database]:
    """Open the same database again, like another process."""
    async with Database(url) as other:
        yield other


async def heard(db: Database, words: str, **more: object) -> LearningResult:
    """Let a new session report an observation, in words that differ from the stored memory."""
    return await said(db, await session(db), observation=words, **more)


async def look(db: Database) -> None:
    """Let this process read all memories of the group."""
    for words in (STRANGE, "Serves its pages in French"):
        await heard(db, words)


async def edited(db: Database, memory: Memory, **change: object) -> Memory:
    change_ = Edit(**change)  # type: ignore[arg-type]
    return await curate.edit(context(db), memory.id, change_, version=None)


async def typed(db: Database, observations: Sequence[str]) -> list[Memory]:
    """Add some memories as an operator."""
    found = []
    async with writing(db):
        for words in observations:
            candidate = replace(SLOW_START, observation=words)
            found.append(await curate.create(context(db), candidate))
    return found


def odd(count: int, start: int = 0) -> list[str]:
    """Return texts that share a common word with ours, each with a unique rare word."""
    letters = "bcdfghjklm"
    names = ["".join(letters[int(d)] for d in f"{n:05}") for n in range(start, start + count)]
    return [f"Plugin {name} logs to volume {name[::-1]} on restart" for name in names]


async def test_edits_of_another_process_are_used_by_the_next_reconciliation(
    db: Database, elsewhere: Database
) -> None:
    mine = (await heard(db, "Keeps its pictures in /srv/p")).memory
    await look(db)

    await edited(elsewhere, mine, observation="Takes 60s to start after restart")
    again = await heard(db, MINUTE)
    await edited(elsewhere, mine, observation=STRANGE)
    other = await heard(db, HALF)

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, mine.id)
    assert (other.outcome, other.effects) == (ReconcileOutcome.LEARNED, ())


async def test_memories_learned_by_another_process_are_related(
    db: Database, elsewhere: Database
) -> None:
    await look(db)

    theirs = (await heard(elsewhere, SLOW_START.observation)).memory

    assert (await heard(db, MINUTE)).memory.id == theirs.id
    assert (await heard(elsewhere, MINUTE)).memory.id == theirs.id
    assert [each.confidence for each in await held(db)] == [LEARNED, LEARNED, after(UP, UP)]


async def test_memory_learned_and_corrected_by_another_process_is_related(
    db: Database, elsewhere: Database
) -> None:
    await look(db)

    theirs = (await heard(elsewhere, "Keeps its pictures in /srv/p")).memory
    await edited(elsewhere, theirs, observation="Takes 60s to start after restart")

    again = await heard(db, MINUTE)
    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, theirs.id)


@pytest.mark.parametrize("known", [False, True], ids=["before we look", "after we looked"])
async def test_row_with_ten_columns_written_outside_the_app_is_related(
    db: Database, url: str, known: bool
) -> None:
    if known:
        await look(db)

    direct_writes.run(
        url,
        f"{BY_HAND} VALUES ('jellyfin', 'timing', 'Takes 60s to start after restart', 0.7, 1,"
        f" {STAMPS}, NULL, 1)",
    )

    again = await heard(db, MINUTE)
    assert (again.outcome, again.memory.confidence) == (ReconcileOutcome.REINFORCED, after(UP))
    [effect] = (await heard(db, HALF)).effects
    assert (effect.before.id, effect.after.confidence) == (again.memory.id, after(UP, DOWN))


def write_by_hand(url: str, texts: Sequence[str]) -> None:
    values = ", ".join(
        f"('jellyfin', 'timing', '{words}', 0.7, 1, {STAMPS}, NULL, 1)" for words in texts
    )
    direct_writes.run(url, f"{BY_HAND} VALUES {values}")


async def test_many_rows_written_outside_the_app_are_related_immediately(
    db: Database, url: str
) -> None:
    await look(db)
    write_by_hand(url, [*odd(400), SLOW_START.observation])

    again = await heard(db, MINUTE)

    assert again.outcome is ReconcileOutcome.REINFORCED
    assert again.memory.observation == SLOW_START.observation


@pytest.mark.parametrize("ahead", [False, True], ids=["by who asks", "by a session that begins"])
async def test_very_many_external_rows_are_analyzed_in_batches(
    db: Database, url: str, ahead: bool
) -> None:
    await look(db)
    write_by_hand(url, [*odd(2 * STALE_BATCH_SIZE), SLOW_START.observation])

    await heard(db, STRANGE)
    assert len(await rows(db, "analyses")) < 2 * STALE_BATCH_SIZE
    if ahead:
        while await catch_up(db, builtin_lexicon()):
            pass
    await heard(db, STRANGE)
    again = await heard(db, MINUTE)

    assert again.outcome is ReconcileOutcome.REINFORCED
    assert again.memory.observation == SLOW_START.observation


@pytest.mark.parametrize(
    "change",
    [{"service": "plex"}, {"category": Category.BEHAVIOR}, {"active": False}],
    ids=["service", "category", "inactive"],
)
async def test_memory_outside_its_group_is_not_related_until_restored(
    db: Database, change: dict[str, object]
) -> None:
    mine = (await heard(db, SLOW_START.observation)).memory
    back = {"service": "jellyfin", "category": Category.TIMING, "active": True}
    await look(db)

    await edited(db, mine, **change)
    gone = await heard(db, HALF)
    await curate.delete(db, gone.memory.id, version=None, now=NOON)
    await edited(db, mine, **{name: back[name] for name in change})

    assert (gone.outcome, gone.effects) == (ReconcileOutcome.LEARNED, ())
    assert (await heard(db, MINUTE)).memory.id == mine.id


async def test_memory_learned_for_another_service_is_related_after_its_move(
    db: Database, elsewhere: Database
) -> None:
    await look(db)
    mine = (await heard(db, SLOW_START.observation, service="plex")).memory
    theirs = (await heard(elsewhere, STRANGE, service="plex")).memory

    await edited(db, mine, service="jellyfin")
    again = await heard(db, MINUTE)

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, mine.id)
    assert (await heard(db, STRANGE, service="plex")).memory.id == theirs.id


async def test_superseded_memories_do_not_hide_the_relevant_one(
    db: Database,
) -> None:
    mine = (await heard(db, MINUTE)).memory
    near = [f"Takes 60s to start after restart of disk {name}" for name in "abcdefghijklmn"]
    aside = await typed(db, near)
    await look(db)
    for memory in aside:
        await edited(db, memory, active=False)

    again = await heard(db, "Takes 61s to start after restart of disk z")

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, mine.id)


async def test_often_confirmed_memories_do_not_hide_the_relevant_one(
    db: Database,
) -> None:
    often = await typed(db, [each.replace("logs", "takes") for each in odd(12)])
    mine = (await heard(db, SLOW_START.observation)).memory
    for number in range(20):
        for memory in often:
            await edited(db, memory, confidence=0.5 + number / 100)
        await heard(db, STRANGE)  # so that this process has followed each change

    again = await heard(db, MINUTE)

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, mine.id)


async def test_memory_activated_by_a_bulk_act_is_related(db: Database, elsewhere: Database) -> None:
    mine = (await heard(db, SLOW_START.observation)).memory
    await edited(db, mine, active=False)
    await look(db)

    await bulk.apply_action(elsewhere, [mine.id], BulkAction(action="activate"), now=NOON)

    assert (await heard(db, MINUTE)).memory.id == mine.id


async def test_relevant_memory_is_related_among_many(db: Database) -> None:
    half = examples(1_000)
    await typed(db, odd(half))
    mine = (await heard(db, SLOW_START.observation)).memory
    await typed(db, odd(half, half))

    again = await heard(db, MINUTE)
    other = await heard(db, HALF)

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, mine.id)
    assert [(each.before.id, each.after.confidence) for each in other.effects] == [
        (mine.id, after(UP, DOWN))
    ]


async def test_rolled_back_memory_is_not_related_and_its_id_can_be_reused(
    db: Database,
) -> None:
    await look(db)
    one = await session(db)

    async def cut_short() -> None:
        async with writing(db):
            undone = (await said(db, one)).memory
            assert (await said(db, one, observation=MINUTE)).memory.id == undone.id
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await cut_short()
    # it says what it says without a session, whose row would be a change of its own
    other = (await said(db, None, observation="Needs a licence from March on")).memory
    again = await said(db, None, observation="It needs a licence from March on")

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, other.id)
    learned = await heard(db, HALF)
    assert (learned.outcome, learned.effects) == (ReconcileOutcome.LEARNED, ())


async def test_changed_lexicon_analyzes_memories_again(db: Database) -> None:
    words = parse_lexicon(builtin_source(), '[synonyms]\ngrommet = "frobnicate"')
    before = (await heard(db, "Takes 60s to grommet itself")).memory
    [kept] = await rows(db, "analyses")

    candidate = replace(SLOW_START, observation="Needs a minute to frobnicate itself")
    again = await remember(learning(db, lexicon=words), candidate, now=LATER)

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, before.id)
    [anew] = await rows(db, "analyses")
    assert (anew["memory_id"], anew["lexicon"]) == (before.id, words.version)
    assert anew["lexicon"] != kept["lexicon"]


async def test_general_memories_are_a_separate_group(db: Database) -> None:
    general = (await heard(db, SLOW_START.observation, service=None)).memory
    mine = (await heard(db, SLOW_START.observation)).memory

    assert (await heard(db, MINUTE, service=None)).memory.id == general.id
    assert (await heard(db, MINUTE, service="general")).memory.id == general.id
    assert (await heard(db, MINUTE)).memory.id == mine.id


async def test_databases_of_one_process_have_separate_analyses(
    db: Database, migrated: Path, tmp_path: Path
) -> None:
    copy = shutil.copy(migrated, tmp_path / "second.db")
    async with Database(sqlite_url(copy)) as second:
        mine = (await heard(db, STRANGE)).memory
        theirs = (await heard(second, SLOW_START.observation)).memory
        assert mine.id == theirs.id

        here, there = await heard(db, MINUTE), await heard(second, MINUTE)

    assert (here.outcome, there.outcome) == (ReconcileOutcome.LEARNED, ReconcileOutcome.REINFORCED)


async def test_deleted_memory_leaves_no_analysis(db: Database) -> None:
    mine = (await heard(db, SLOW_START.observation)).memory

    await curate.delete(db, mine.id, version=None, now=NOON)

    assert await rows(db, "analyses") == []
    assert (await heard(db, HALF)).outcome is ReconcileOutcome.LEARNED


async def test_pruned_feed_loses_no_edit_of_another_process(
    db: Database, elsewhere: Database
) -> None:
    mine = (await heard(db, "Keeps its pictures in /srv/p")).memory
    await look(db)
    await edited(elsewhere, mine, observation=SLOW_START.observation)
    await heard(elsewhere, STRANGE, service="plex")
    async with writing(elsewhere):
        await changes.prune(elsewhere, before=NOON + timedelta(days=1))

    assert (await heard(db, MINUTE)).memory.id == mine.id
