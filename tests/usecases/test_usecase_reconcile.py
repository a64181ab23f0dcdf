"""A session's reports weaken contradicted memories, reinforce repeated ones, open reviews."""

import asyncio
import signal
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from examples import LATER, NOON, OPEN, SLOW_START, held, rows, said, session, stream

import direct_writes
import nursery
from confidences import DOWN, LEARNED, UP, WEEK, after
from contexts import context, ingesting, learning
from lamplighter.domain.memory.intents import CONTRADICTS, REVIVES
from lamplighter.domain.memory.memory import Category, Edit, InactiveReason, Memory
from lamplighter.domain.memory.review import (
    Resolution,
    Review,
    ReviewAnswer,
    ReviewKind,
    ReviewState,
)
from lamplighter.domain.relate.reconcile import (
    ALREADY_REINFORCED,
    ECHO,
    IN_PROMPT,
    OWN_MEMORY,
    REFUSED,
    EchoPolicy,
    ReconcileOutcome,
)
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import CheckResult, Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, links, reviews
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.repository.services import checks
from lamplighter.repository.store import driver
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.fade import fade
from lamplighter.usecases.memory.remember import LearningResult, remember
from lamplighter.usecases.memory.review import resolve
from lamplighter.usecases.memory.undo import undo_step
from lamplighter.usecases.sessions import sessions

DAY = timedelta(days=1)
HALF = "Takes 30s to start after restart"
MINUTE = "It needs about a minute to start after a restart"
BLUE_KEY = "The log forwarder needs the blue key"
GREEN_KEY = "The log forwarder needs the green key"
ALL = ("memories", "history", "links", "reviews", "changes", "analyses")
DIES = """
import asyncio, os, signal, sys
from dataclasses import replace
sys.path[:0] = sys.argv[2:]
from examples import LATER, said
from lamplighter.repository import Database, writing

async def main():
    async with Database(sys.argv[1]) as db, writing(db):
        done = await said(db, None, observation="Takes 30s to start after restart", now=LATER)
        assert done.effects
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def typed(db: Database, words: str = SLOW_START.observation, **more: Any) -> Memory:
    candidate = replace(SLOW_START, observation=words, **more)
    return await curate.create(context(db), candidate)


async def heard(db: Database, words: str, **more: Any) -> LearningResult:
    """Let a new session report an observation."""
    return await said(db, await session(db), observation=words, **more)


async def confidences(db: Database) -> list[float]:
    return [each.confidence for each in await held(db)]


async def waiting(db: Database) -> list[Review]:
    return (await reviews.page(db, ReviewFilter(state=ReviewState.OPEN), limit=99)).items


async def told(db: Database) -> Session:
    """Begin a session like the supervisor: its prompt includes the stored memories."""
    await session(db)  # takes the lease
    begun = await sessions.begin(db, SessionPlan(), services=Services(()), epoch=1, now=NOON)
    return begun.session


@pytest.mark.parametrize("service", ["jellyfin", None])
async def test_contradiction_lowers_confidence_adds_a_link_and_opens_a_review(
    db: Database, service: str | None
) -> None:
    old = await typed(db, service=service)
    by = await session(db)

    new = await said(db, by, observation=HALF, service=service, now=LATER)

    weaker = replace(old, confidence=after(DOWN), version=2)
    assert await held(db) == [weaker, new.memory]
    assert (new.outcome, new.memory.confidence) == (ReconcileOutcome.LEARNED, LEARNED)
    assert await links.of_memory(db, new.memory.id) == [(old.id, CONTRADICTS)]
    [review] = await waiting(db)
    assert (review.kind, review.old_id, review.new_id, review.observation, review.session_id) == (
        *(ReviewKind.CONFLICT, old.id, new.memory.id, HALF, by.id),
    )
    [entry] = (await history.of_memory(db, old.id, limit=1)).items
    assert (entry.cause, entry.actor, entry.session_id) == ("contradicted", "session", by.id)
    assert "30s" in entry.reason
    assert entry.reason.startswith(f"memory {new.memory.id} ")


@pytest.mark.parametrize(
    ("before", "after", "active"),
    [
        (0.8, 0.6, True),
        (0.51, 0.31, True),
        (0.5, 0.3, True),
        (0.49, 0.29, False),
        (0.4, 0.2, False),
    ],
)
async def test_contradicted_memory_turns_inactive_only_below_030(
    db: Database, before: float, after: float, active: int
) -> None:
    old = await typed(db, confidence=before)

    await heard(db, HALF)

    reason = None if active else InactiveReason.LOW
    weaker = replace(old, confidence=after, active=bool(active), inactive_reason=reason, version=2)
    assert (await held(db))[0] == weaker


async def test_contradicted_memory_keeps_the_time_of_its_last_confirmation(db: Database) -> None:
    old = await typed(db)

    await heard(db, HALF, now=NOON + 20 * DAY)

    assert await fade(db, now=NOON + 37 * DAY) == 1
    weaker = (await held(db))[0]
    assert (weaker.id, weaker.confidence, weaker.updated_at) == (old.id, 0.4, NOON)


async def test_observation_weakens_all_conflicts_and_reinforces_the_best_match(
    db: Database,
) -> None:
    same = await typed(db, MINUTE, confidence=0.6)
    sure = await typed(db, confidence=0.9)
    fast = await typed(db, "Takes 5s to start after restart")
    hour = await typed(db, "Takes an hour to start after restart")
    other = await typed(db, "Library scan takes 20 minutes")
    elsewhere = await typed(db, HALF, service="plex")

    done = await heard(db, SLOW_START.observation)

    assert (done.outcome, done.memory.id) == (ReconcileOutcome.REINFORCED, sure.id)
    assert await confidences(db) == [
        *(0.6, after(UP, of=0.9), after(DOWN), after(DOWN)),
        *(LEARNED, LEARNED),
    ]
    assert {each.before.id for each in done.effects} == {fast.id, hour.id}
    assert [(each.old_id, each.new_id) for each in await waiting(db)] == [
        (fast.id, sure.id),
        (hour.id, sure.id),
    ]
    assert await links.of_memory(db, sure.id) == [
        (fast.id, CONTRADICTS),
        (hour.id, CONTRADICTS),
    ]
    left = await held(db)
    assert [left[0], left[4], left[5]] == [same, other, elsewhere]


async def test_possible_conflict_weakens_nothing_and_opens_a_review(db: Database) -> None:
    old = await typed(db, BLUE_KEY)

    done = await heard(db, GREEN_KEY)

    assert (done.outcome, await held(db)) == (ReconcileOutcome.LEARNED, [old, done.memory])
    [review] = await waiting(db)
    assert (review.kind, review.old_id, review.new_id) == (
        *(ReviewKind.POSSIBLE, old.id, done.memory.id),
    )
    assert review.reason.startswith("may conflict: ")
    assert await links.of_memory(db, done.memory.id) == []


async def test_repeated_contradiction_opens_one_review(db: Database) -> None:
    old = await typed(db, confidence=1.0)

    for _ in range(4):
        await heard(db, HALF)

    assert await confidences(db) == [0.2, 1.0]
    [review] = await waiting(db)
    assert (review.old_id, review.state) == (old.id, ReviewState.OPEN)


@pytest.mark.parametrize("decision", ["both", "dismiss"])
async def test_memories_judged_compatible_no_longer_weaken_each_other(
    db: Database, decision: str
) -> None:
    old, new = await typed(db), (await heard(db, HALF)).memory
    [review] = await waiting(db)
    scope = {"old_scope": "from disk"} if decision == "both" else {}
    answer = ReviewAnswer(resolution=Resolution(decision), **scope)
    await resolve(context(db, LATER), review.id, answer, version=None)
    before = (await held(db))[0]

    again = await heard(db, HALF)

    assert (again.outcome, again.memory.id, again.effects) == (
        ReconcileOutcome.REINFORCED,
        new.id,
        (),
    )
    assert (await held(db))[0] == before
    assert (before.id, await waiting(db)) == (old.id, [])


async def test_undo_of_a_contradiction_restores_the_memory(db: Database) -> None:
    old = await typed(db, confidence=0.4)
    await heard(db, HALF)
    [entry] = (await history.of_memory(db, old.id, limit=1)).items

    back = await undo_step(db, old.id, entry.id, version=None, now=LATER)

    assert back == replace(old, version=3)


async def test_session_weakens_and_reinforces_a_memory_once_each(db: Database) -> None:
    await typed(db)
    one, two = await session(db), await session(db)

    down = [await said(db, one, observation=f"Takes {n}s to start after restart") for n in (5, 600)]
    up = [await said(db, two, observation=words) for words in (MINUTE, SLOW_START.observation)]

    assert (await held(db))[0].confidence == after(DOWN, UP)
    assert [each.effects[0].weakens for each in down] == [True, False]
    assert [each.outcome for each in up] == [
        ReconcileOutcome.REINFORCED,
        ReconcileOutcome.UNCHANGED,
    ]
    assert up[1].reason == ALREADY_REINFORCED
    entries = await rows(db, "history")
    moves = [each["cause"] for each in entries if each["memory_id"] == 1]
    assert moves == ["created", "contradicted", "reinforced"]


async def test_session_may_reverse_its_observation_once(db: Database) -> None:
    await typed(db)
    one = await session(db)

    for words in (MINUTE, HALF, SLOW_START.observation, HALF, MINUTE):
        await said(db, one, observation=words)

    assert (await held(db))[0].confidence == after(UP, DOWN)


async def test_session_does_not_reinforce_its_own_memory_in_other_words(db: Database) -> None:
    one = await session(db)
    await said(db, one)

    again = await said(db, one, observation=MINUTE)

    assert (again.outcome, again.reason) == (ReconcileOutcome.UNCHANGED, OWN_MEMORY)
    assert await confidences(db) == [LEARNED]


@pytest.mark.parametrize(
    ("echo", "words", "looks", "kept", "reason"),
    [
        (EchoPolicy.COUNT, SLOW_START.observation, "", after(UP), IN_PROMPT),
        (EchoPolicy.IGNORE, SLOW_START.observation, "", LEARNED, ECHO),
        (EchoPolicy.IGNORE, SLOW_START.observation.upper() + ".", "", LEARNED, ECHO),
        (EchoPolicy.IGNORE, SLOW_START.observation, "check", after(UP), IN_PROMPT),
        (EchoPolicy.IGNORE, SLOW_START.observation, "check of another", LEARNED, ECHO),
        (EchoPolicy.IGNORE, SLOW_START.observation, "tool", after(UP), IN_PROMPT),
        (EchoPolicy.IGNORE, SLOW_START.observation, "tool on another", LEARNED, ECHO),
        (EchoPolicy.IGNORE, MINUTE, "", after(UP), "same fact: "),
    ],
)
async def test_repeated_prompt_memory_is_handled_by_the_echo_policy(
    db: Database, echo: EchoPolicy, words: str, looks: str, kept: float, reason: str
) -> None:
    await typed(db)
    one = await told(db)
    service = "plex" if "another" in looks else "jellyfin"
    if looks.startswith("check"):
        look = CheckResult(service=service, name="web", kind="http", ok=True)
        async with writing(db):
            await checks.insert(db, one.id, look, now=NOON)
    use = {"type": "tool_use", "name": "Bash", "input": {"command": f"systemctl status {service}"}}
    tools = [{"type": "assistant", "message": {"content": [use]}}] if "tool" in looks else []
    taking = ingesting(db, one, OPEN, ["jellyfin", "plex"], echo=echo)

    await session_lines.ingest(
        taking, stream(*tools, f"[MEMORY:timing:jellyfin] {words}"), now=LATER
    )

    assert await confidences(db) == [kept]
    [mark] = await rows(db, "markers")
    assert mark["reason"].startswith(reason)
    if kept == after(UP):
        [entry] = (await history.of_memory(db, 1, limit=1)).items
        assert entry.reason.startswith(reason)


async def test_memory_outside_the_prompt_is_not_an_echo(db: Database) -> None:
    one = await told(db)
    await typed(db)
    candidate = replace(SLOW_START, session_id=one.id)

    done = await remember(learning(db, echo=EchoPolicy.IGNORE), candidate, now=NOON)

    assert (done.outcome, done.memory.confidence) == (ReconcileOutcome.REINFORCED, after(UP))


@pytest.mark.parametrize(
    ("words", "confidence", "kept", "causes"),
    [
        (
            SLOW_START.observation,
            LEARNED,
            [after(WEEK, WEEK, UP)],
            ["created", "faded", "reinforced"],
        ),
        (HALF, LEARNED, [after(WEEK, WEEK, DOWN), LEARNED], ["created", "faded", "contradicted"]),
        # what has faded away is learned anew, and is beyond being contradicted
        (SLOW_START.observation, 0.4, [0.4, 0.7], ["created"]),
        (HALF, 0.4, [0.4, 0.7], ["created"]),
    ],
)
async def test_reconciliation_applies_due_fading_first(
    db: Database, words: str, confidence: float, kept: list[float], causes: list[str]
) -> None:
    await typed(db, confidence=confidence)

    await heard(db, words, now=NOON + 44 * DAY)

    assert await confidences(db) == kept
    entries = (await history.of_memory(db, 1, limit=9)).items
    assert [each.cause for each in reversed(entries)] == causes
    assert [each.version for each in reversed(entries)] == list(range(1, len(causes) + 1))


async def test_reconciliation_without_fading_applies_none(db: Database) -> None:
    await typed(db)
    candidate = replace(SLOW_START, observation=HALF)

    await remember(learning(db, fading=False), candidate, now=NOON + 400 * DAY)

    assert (await held(db))[0].confidence == after(DOWN)


@pytest.mark.parametrize("table", ["history", "links", "reviews", "analyses", "changes"])
async def test_contradiction_is_stored_completely_or_not_at_all(
    db: Database, url: str, table: str
) -> None:
    await typed(db)
    one = await session(db)
    kept = {each: await rows(db, each) for each in ALL}
    direct_writes.refuse(url, f"INSERT ON {table}", "not today")

    with pytest.raises(driver.DatabaseError, match="not today"):
        await said(db, one, observation=HALF, now=LATER)

    assert {each: await rows(db, each) for each in ALL} == kept
    direct_writes.allow(url, table)
    assert (await said(db, one, observation=HALF, now=LATER)).memory.confidence == 0.7
    assert await confidences(db) == [after(DOWN), LEARNED]


async def test_process_killed_during_reconciliation_stores_nothing(db: Database, url: str) -> None:
    await typed(db)
    kept = {each: await rows(db, each) for each in ALL}
    here = Path(__file__).parent

    died = await asyncio.to_thread(nursery.finish, "-c", DIES, url, str(here), str(here.parent))

    assert died.returncode == -signal.SIGKILL, died.stderr
    assert {each: await rows(db, each) for each in ALL} == kept
    assert (await heard(db, HALF)).effects[0].after.confidence == after(DOWN)


async def test_inactive_memory_is_revived_and_not_contradicted_again(
    db: Database,
) -> None:
    old = await typed(db, confidence=0.4)
    new = (await heard(db, HALF)).memory

    again = await heard(db, SLOW_START.observation)

    assert (again.outcome, again.memory.confidence) == (ReconcileOutcome.LEARNED, LEARNED)
    assert [each.before.id for each in again.effects] == [new.id]
    assert await confidences(db) == [0.2, 0.5, 0.7]
    assert await links.of_memory(db, again.memory.id) == [
        (old.id, REVIVES),
        (new.id, CONTRADICTS),
    ]


async def test_feed_has_each_change_and_the_review_once(db: Database) -> None:
    old = await typed(db)
    one = await session(db)
    seq = len(await rows(db, "changes"))

    new = (await said(db, one, observation=HALF)).memory

    told_ = [(each["entity"], each["entity_id"], each["op"]) for each in await rows(db, "changes")]
    assert sorted(told_[seq:]) == [
        ("memory", old.id, "updated"),
        ("memory", new.id, "created"),
        ("review", 1, "created"),
    ]


async def test_memories_of_other_categories_are_not_related(db: Database) -> None:
    old = await typed(db)

    done = await heard(db, HALF, category=Category.BEHAVIOR)

    assert (done.outcome, done.effects) == (ReconcileOutcome.LEARNED, ())
    assert (await held(db))[0] == old


async def test_concurrent_edit_of_a_person_is_kept(db: Database) -> None:
    old = await typed(db)
    change = Edit(observation="Takes 40 minutes to start after restart", confidence=0.9)
    later: datetime = LATER
    await curate.edit(context(db, later), old.id, change, version=None)

    done = await heard(db, SLOW_START.observation, now=LATER)

    [effect] = done.effects
    assert (effect.before.observation, effect.after.confidence) == (change.observation, 0.7)


async def test_rejected_claim_is_not_relearned_while_the_other_is_active(
    db: Database,
) -> None:
    for resolution in (Resolution.KEEP_OLD, Resolution.KEEP_NEW):
        service = str(resolution)
        old = (await heard(db, SLOW_START.observation, service=service)).memory
        new = (await heard(db, HALF, service=service)).memory
        [review] = await waiting(db)
        answer = ReviewAnswer(resolution=resolution)
        await resolve(context(db, LATER), review.id, answer, version=None)
        kept, aside = (old, new) if resolution is Resolution.KEEP_OLD else (new, old)
        before = await held(db)

        again = await heard(db, aside.observation.upper(), service=service, now=LATER)

        assert (again.outcome, again.memory.id, again.reason) == (
            ReconcileOutcome.UNCHANGED,
            aside.id,
            REFUSED,
        )
        assert (await held(db), await waiting(db)) == (before, [])
        off = Edit(active=False)
        await curate.edit(context(db, LATER), kept.id, off, version=None)
        back = await heard(db, aside.observation, service=service, now=LATER)
        assert back.outcome is ReconcileOutcome.LEARNED


async def test_contradictions_within_one_session_open_no_reviews(db: Database) -> None:
    one = await session(db)
    for power in range(1, 12):
        await said(db, one, observation=f"Takes {2**power}s to start after restart")

    assert (await waiting(db), await confidences(db)) == ([], [0.7] * 11)

    await heard(db, "Takes 9000s to start after restart")
    assert 0 < len(await waiting(db)) <= 11


async def test_dismissed_pair_is_reviewed_again_after_an_edit(
    db: Database,
) -> None:
    old = await typed(db)
    await heard(db, HALF)
    [review] = await waiting(db)
    answer = ReviewAnswer(resolution=Resolution.DISMISS)
    await resolve(context(db, LATER), review.id, answer, version=None)
    await heard(db, HALF, now=LATER)
    assert await waiting(db) == []

    words = Edit(observation="Takes 600s to start after restart")
    after = LATER + timedelta(minutes=1)
    await curate.edit(context(db, after), old.id, words, version=None)
    await heard(db, HALF, now=after)

    assert [each.old_id for each in await waiting(db)] == [old.id]
    words = Edit(observation=SLOW_START.observation)
    await curate.edit(context(db, after), old.id, words, version=None)
    assert await reviews.compatible_among(db, [review.old_id, review.new_id]) != set()
