"""Memories are verified against sources: passed, failed, or left unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from examples import NOON, SLOW_START, rows

from contexts import context
from lamplighter.domain.errors import Conflict, Invalid
from lamplighter.domain.memory.memory import Category, Edit, Memory, Source, Trust
from lamplighter.domain.memory.review import Resolution, ReviewAnswer, ReviewKind, ReviewState
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.verify.claims import TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState, VerdictState
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, memories, reviews
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.repository.services import events
from lamplighter.repository.verify import attached, verifications
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import curate, journal
from lamplighter.usecases.memory.review import resolve
from lamplighter.usecases.memory.undo import undo_step
from lamplighter.usecases.verify import batch, schedule
from lamplighter.usecases.verify.verify import verify_memories, verify_memory

LATER = NOON + timedelta(days=2)
ENTRY = replace(
    SLOW_START,
    category=Category.ARCHITECTURE,
    service=None,
    observation="The entry point is src/app.py",
    source=Source.EXTRACTED,
    trust=Trust.UNVERIFIED,
    confidence=0.6,
    project="blog",
)
PORT = replace(SLOW_START, observation="jellyfin listens on port 8096", confidence=0.7)
SERVICES = Services(
    (Service(name="jellyfin", checks=(TcpCheck(name="tcp", host="localhost", port=8096),)),),
    path="services.yaml",
)


@dataclass
class Fixed:
    """Sources that give every claim the same answer."""

    state: AnswerState
    asked: list[TextClaim] = field(default_factory=list)

    async def answer(self, claims: Sequence[TextClaim], *, project: str) -> dict[TextClaim, Answer]:
        self.asked += claims
        return {each: Answer(self.state, "files", f"{each.subject}: evidence") for each in claims}


def here(db: Database, *, now: datetime = LATER) -> Context:
    return context(db, now=now)


async def kept(db: Database, candidate: object = ENTRY) -> Memory:
    async with writing(db):
        memory = await memories.insert(db, candidate, now=NOON)  # type: ignore[arg-type]
        why = history.ChangeOrigin(cause="learned", actor="session")
        await history.append(db, None, memory, why, now=NOON)
    return memory


async def now_is(db: Database, memory: Memory) -> Memory:
    found = await memories.get(db, memory.id)
    assert found is not None
    return found


async def open_reviews(db: Database) -> list[tuple[int, str, str]]:
    chosen = ReviewFilter(state=ReviewState.OPEN, kind=ReviewKind.VERIFICATION)
    found = (await reviews.page(db, chosen, limit=50)).items
    return [(each.old_id, each.observation, each.reason) for each in found]


async def test_verified_memory_becomes_trusted_and_distilled(db: Database) -> None:
    memory = await kept(db)

    [result] = await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [memory.id])

    expected = replace(
        memory,
        confidence=0.9,
        trust=Trust.TRUSTED,
        distilled=True,
        verified_at=LATER,
        updated_at=LATER,
        version=2,
    )
    assert result.memory == await now_is(db, memory) == expected
    newest = (await history.of_memory(db, memory.id, limit=1)).items[0]
    assert (newest.cause, newest.actor) == ("verified", "verification")
    assert newest.reason == "files: src/app.py: evidence"
    assert await open_reviews(db) == []


async def test_verification_changes_only_dates_of_an_operational_memory(db: Database) -> None:
    memory = await kept(db, PORT)

    await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [memory.id])

    expected = replace(memory, verified_at=LATER, updated_at=LATER, version=2)
    assert await now_is(db, memory) == expected


async def test_verification_applies_due_fading_first(db: Database) -> None:
    memory = await kept(db, PORT)
    later = NOON + timedelta(days=45)

    await verify_memories(here(db, now=later), Fixed(AnswerState.CONFIRMED), [memory.id])

    found = await now_is(db, memory)
    assert (found.confidence, found.decayed_weeks, found.updated_at) == (0.5, 0, later)


async def test_failed_verification_opens_one_review_and_changes_nothing(db: Database) -> None:
    memory = await kept(db)
    sources = Fixed(AnswerState.REFUTED)

    for _ in range(2):
        [result] = await verify_memories(here(db), sources, [memory.id])

    assert await now_is(db, memory) == memory
    assert await open_reviews(db) == [
        (memory.id, "path: src/app.py", "files: src/app.py: evidence")
    ]
    assert len(result.reviews) == 1


async def test_each_refuted_claim_opens_a_separate_review(db: Database) -> None:
    both = replace(ENTRY, observation="The entry point is src/app.py; the default branch is main")
    memory = await kept(db, both)

    await verify_memories(here(db), Fixed(AnswerState.REFUTED), [memory.id])

    assert [text for _, text, _ in await open_reviews(db)] == ["path: src/app.py", "branch: main"]


async def test_resolved_claim_opens_no_second_review(db: Database) -> None:
    memory = await kept(db)
    sources = Fixed(AnswerState.REFUTED)
    [result] = await verify_memories(here(db), sources, [memory.id])
    answer = ReviewAnswer(resolution=Resolution.KEEP_OLD)
    await resolve(here(db), result.reviews[0], answer, version=None)

    await verify_memories(here(db), sources, [memory.id])

    assert await open_reviews(db) == []
    assert (await now_is(db, memory)).active


async def test_resolution_deactivates_or_corrects_a_refuted_memory(db: Database) -> None:
    aside, worded = await kept(db), await kept(db)
    for memory, text in ((aside, ""), (worded, "The entry point is src/main.py")):
        [result] = await verify_memories(here(db), Fixed(AnswerState.REFUTED), [memory.id])
        answer = ReviewAnswer(resolution=Resolution.KEEP_NEW, observation=text)
        await resolve(here(db), result.reviews[0], answer, version=None)

    assert not (await now_is(db, aside)).active
    corrected = await now_is(db, worded)
    assert (corrected.active, corrected.observation) == (True, "The entry point is src/main.py")


async def test_verification_review_cannot_be_merged(db: Database) -> None:
    memory = await kept(db)
    [result] = await verify_memories(here(db), Fixed(AnswerState.REFUTED), [memory.id])

    answer = ReviewAnswer(resolution=Resolution.MERGE, observation="x")
    with pytest.raises(Invalid):
        await resolve(here(db), result.reviews[0], answer, version=None)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Takes long to start", VerdictState.UNTESTED),
        ("The entry point is src/app.py; takes 60s to start", VerdictState.PARTIAL),
    ],
)
async def test_partly_tested_memory_is_not_changed(
    db: Database, text: str, state: VerdictState
) -> None:
    memory = await kept(db, replace(ENTRY, observation=text))

    [result] = await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [memory.id])

    assert result.verdict.state is state
    assert await now_is(db, memory) == memory
    assert len(await rows(db, "history")) == 1


async def test_dry_run_writes_nothing(db: Database) -> None:
    memory = await kept(db)
    before = [await rows(db, name) for name in ("memories", "history", "changes", "reviews")]

    for state in (AnswerState.CONFIRMED, AnswerState.REFUTED):
        await verify_memories(here(db), Fixed(state), [memory.id], dry_run=True)

    assert [
        await rows(db, name) for name in ("memories", "history", "changes", "reviews")
    ] == before
    assert await verifications.get(db, memory.id) is None


async def test_undone_verification_is_exact_and_not_repeated(db: Database) -> None:
    memory = await kept(db)
    sources = Fixed(AnswerState.CONFIRMED)
    await verify_memories(here(db), sources, [memory.id])
    step = (await history.of_memory(db, memory.id, limit=1)).items[0]

    await undo_step(db, memory.id, step.id, version=None, now=LATER)

    assert await now_is(db, memory) == replace(memory, version=3)
    [again] = await verify_memories(here(db), sources, [memory.id])
    assert again.skipped == "a person undid its verification"
    assert await now_is(db, memory) == replace(memory, version=3)


async def test_requested_verification_is_an_act_that_can_be_undone(db: Database) -> None:
    memory = await kept(db)

    await verify_memory(here(db), Fixed(AnswerState.CONFIRMED), memory.id)

    act = (await rows(db, "acts"))[-1]
    assert (act["action"], act["changed"]) == ("verify", 1)
    await journal.undo(db, act["id"], now=LATER)
    assert await now_is(db, memory) == replace(memory, version=3)


async def test_inactive_memory_cannot_be_verified(db: Database) -> None:
    memory = await kept(db, replace(ENTRY, confidence=0.2))

    with pytest.raises(Conflict):
        await verify_memory(here(db), Fixed(AnswerState.CONFIRMED), memory.id)
    [result] = await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [memory.id])

    assert result.skipped == "it is inactive"
    assert await now_is(db, memory) == memory


async def test_repeated_verification_within_a_day_changes_nothing(db: Database) -> None:
    memory = await kept(db)
    await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [memory.id])
    soon = here(db, now=LATER + timedelta(hours=5))

    [result] = await verify_memories(soon, Fixed(AnswerState.CONFIRMED), [memory.id])

    assert not result.changed
    assert (await now_is(db, memory)).verified_at == LATER


@dataclass
class Meddling(Fixed):
    """Sources that edit the memory as a person, or end the process, before they answer."""

    db: Database | None = None
    memory: Memory | None = None
    ends: bool = False

    async def answer(self, claims: Sequence[TextClaim], *, project: str) -> dict[TextClaim, Answer]:
        if self.ends:
            raise SystemExit
        assert self.db is not None
        assert self.memory is not None
        change = Edit(observation="The entry point is src/main.py")
        await curate.edit(here(self.db), self.memory.id, change, version=None)
        return await super().answer(claims, project=project)


async def test_verification_of_a_memory_changed_meanwhile_is_skipped(db: Database) -> None:
    memory = await kept(db)
    sources = Meddling(AnswerState.CONFIRMED, db=db, memory=memory)

    [result] = await verify_memories(here(db), sources, [memory.id])

    assert result.skipped == "it was changed meanwhile"
    assert (await now_is(db, memory)).verified_at is None


async def test_interrupted_verification_is_continued_without_repetition(db: Database) -> None:
    first, second = await kept(db), await kept(db)
    await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [first.id])
    with pytest.raises(SystemExit):
        await verify_memories(
            here(db), Meddling(AnswerState.CONFIRMED, ends=True), [first.id, second.id]
        )

    await batch.verify_all(here(db), Fixed(AnswerState.CONFIRMED))
    once = await rows(db, "memories"), await rows(db, "history")
    await batch.verify_all(here(db), Fixed(AnswerState.CONFIRMED))

    assert (await rows(db, "memories"), await rows(db, "history")) == once
    assert [each["version"] for each in once[0]] == [2, 2]


async def test_schedule_verifies_unverified_memories_once_per_version(db: Database) -> None:
    memory = await kept(db)
    sure = await kept(db, replace(ENTRY, confidence=0.9, trust=Trust.TRUSTED))
    sources = Fixed(AnswerState.UNKNOWN)

    results, after = await schedule.verify_due(here(db), sources)
    again, _ = await schedule.verify_due(here(db), sources)
    edit = Edit(observation="The entry point is src/main.py")
    await curate.edit(here(db), memory.id, edit, version=None)
    changed, _ = await schedule.verify_due(here(db), sources)

    assert [each.memory.id for each in results] == [memory.id]
    assert after == memory.id
    assert again == []
    assert [each.memory.id for each in changed] == [memory.id]
    assert sure.id not in {each.memory.id for each in (*results, *changed)}


async def deploy(db: Database, text: str, service: str | None = None) -> None:
    async with writing(db):
        await events.insert(db, Level.INFO, text, service=service, source="operator", now=LATER)


async def test_deployment_marks_memories_that_mention_it(db: Database) -> None:
    entry, port = await kept(db), await kept(db, PORT)
    other = await kept(db, replace(ENTRY, observation="The default branch is main"))
    await deploy(db, "Deployed blog before the first start")
    assert await schedule.mark_changed(here(db)) == 0

    await deploy(db, "Deployed 10.9", "jellyfin")
    await deploy(db, "Config changed: src/app.py")
    await deploy(db, "Disk is nearly full", "jellyfin")

    assert await schedule.mark_changed(here(db)) == 2
    assert await schedule.mark_changed(here(db)) == 0
    async with writing(db):
        assert set(await verifications.marked(db, limit=9)) == {entry.id, port.id}
    assert await now_is(db, entry) == entry
    results, _ = await schedule.verify_due(here(db), Fixed(AnswerState.CONFIRMED))
    assert {each.memory.id for each in results} == {entry.id, port.id}
    assert await verifications.marked(db, limit=9) == []
    assert (await now_is(db, other)).version == 1


async def test_reading_never_refreshes_a_memory(db: Database) -> None:
    memory = await kept(db)
    await verify_memories(here(db), Fixed(AnswerState.CONFIRMED), [memory.id])
    before = await now_is(db, memory)

    async with writing(db):
        await verifications.get(db, memory.id)
        await verifications.count_by_state(db)
        await memories.list_by_ids(db, [memory.id])

    assert await now_is(db, memory) == before


async def passes(command: str) -> Answer:
    return Answer(AnswerState.CONFIRMED, "command", f"{command}: exit 0")


async def fails(command: str) -> Answer:
    return Answer(AnswerState.REFUTED, "command", f"{command}: exit 1")


async def test_attached_command_verifies_the_whole_memory(db: Database) -> None:
    memory = await kept(db, replace(ENTRY, observation="Takes 60s to start"))
    await schedule.attach(here(db), memory.id, SERVICES, lambda _: "", command="uptime")

    assert await schedule.run_attached(here(db), passes) == 1
    assert await schedule.run_attached(here(db), passes) == 0

    found = await now_is(db, memory)
    assert (found.verified_at, found.trust, found.confidence) == (LATER, Trust.TRUSTED, 0.9)
    [check] = await attached.of_memory(db, memory.id)
    assert (check.state, check.next_at) == ("passed", LATER + timedelta(days=1))


async def test_failed_attached_command_opens_a_review(db: Database) -> None:
    memory = await kept(db)
    await schedule.attach(here(db), memory.id, SERVICES, lambda _: "", command="uptime")

    await schedule.run_attached(here(db), fails)

    assert await now_is(db, memory) == memory
    assert await open_reviews(db) == [
        (memory.id, "check: command uptime", "command: uptime: exit 1")
    ]


async def test_attached_check_without_a_recent_result_changes_nothing(db: Database) -> None:
    memory = await kept(db, PORT)
    await schedule.attach(
        here(db), memory.id, SERVICES, lambda _: "", service="JELLYFIN", check="tcp"
    )

    await schedule.run_attached(here(db), passes)

    [check] = await attached.of_memory(db, memory.id)
    assert (check.service, check.state) == ("jellyfin", "unknown")
    assert await now_is(db, memory) == memory


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"service": "jellyfin"},
        {"service": "jellyfin", "check": "http"},
        {"service": "blog", "check": "tcp"},
        {"service": "jellyfin", "check": "tcp", "command": "uptime"},
        {"command": "rm -rf /"},
        {"command": "uptime", "cadence": timedelta(seconds=1)},
    ],
)
async def test_invalid_attachments_are_rejected(db: Database, wrong: dict[str, object]) -> None:
    memory = await kept(db)

    def judge(command: str) -> str:
        return "it changes something" if command.startswith("rm") else ""

    with pytest.raises(Invalid):
        await schedule.attach(here(db), memory.id, SERVICES, judge, **wrong)  # type: ignore[arg-type]
    assert await attached.of_memory(db, memory.id) == []


async def test_purged_memory_leaves_no_verification(db: Database) -> None:
    memory = await kept(db)
    await verify_memories(here(db), Fixed(AnswerState.REFUTED), [memory.id])
    await schedule.attach(here(db), memory.id, SERVICES, lambda _: "", command="uptime")

    await curate.delete(db, memory.id, version=None, now=LATER)
    await journal.purge(db, memory.id, now=LATER)

    assert await verifications.get(db, memory.id) is None
    assert await attached.of_memory(db, memory.id) == []
