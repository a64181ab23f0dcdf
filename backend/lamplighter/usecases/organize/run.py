"""The organizer: near-duplicates, old episodes and the facts in them; in short writes.

Each write stores one whole decision; a run that was killed continues from there, because the
remaining work follows from the memories alone.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.memory import InactiveReason, Memory, MemoryId, new_memory
from lamplighter.domain.organize.digest import (
    MAX_EPISODES,
    Bundle,
    digest_keys,
    is_old_episode,
    is_recent_episode,
    make_bundles,
)
from lamplighter.domain.organize.duplicates import find_duplicates
from lamplighter.domain.organize.plan import (
    BundlePlan,
    KnownFacts,
    bundle_intents,
    digest_candidate,
    duplicate_intents,
    plan_bundle,
)
from lamplighter.domain.organize.run import (
    COUNTED,
    HEARTBEAT_SECONDS,
    OPERATOR,
    OPTIONAL_COUNTED,
    SCHEDULE,
    OrganizerRun,
    Progress,
    StageProgress,
    is_due,
    no_progress,
)
from lamplighter.domain.organize.scan import keys_of
from lamplighter.domain.organize.selection import (
    BATCH,
    NO_SELECTION,
    Batches,
    Selection,
    offer_sentences,
)
from lamplighter.domain.text import comparison_key
from lamplighter.domain.verify.verdict import VerdictState
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.access import journal
from lamplighter.repository.memory import memories
from lamplighter.repository.organize import runs
from lamplighter.repository.verify import verifications
from lamplighter.repository.writes import store
from lamplighter.usecases.context import Context
from lamplighter.usecases.organize.propose import admit_proposals
from lamplighter.usecases.organize.scan import SourceScan
from lamplighter.usecases.verify.schedule import AGAIN_AFTER
from lamplighter.usecases.verify.verify import Sources, verify_memories

if TYPE_CHECKING:
    from lamplighter.usecases.organize.model import SentenceSelector

ORGANIZE: Final = "organize"
CHANGING: Final = ("duplicates", "compressed", "searched", "scanned_facts")
"""The counts that show that a run changed something."""

PAIRS: Final = 50
"""The number of near-duplicates to write in one transaction."""

MAX_EXAMPLES: Final = 20
REST_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizerReport:
    """The result of a dry run: the counts, and some texts of each kind."""

    counts: Mapping[str, int]
    examples: Mapping[str, Sequence[str]]


@dataclass(slots=True)
class _Work:
    """A run in progress; without `run` it is a dry run, which writes nothing."""

    here: Context
    names: frozenset[str]
    progress: Progress
    selector: "SentenceSelector | None" = None
    silent: frozenset[str] = frozenset()
    run: OrganizerRun | None = None
    counts: Counter[str] = field(default_factory=Counter)
    distilled: int = 0
    """The number of raw memories that a dry run would distill."""

    examples: dict[str, list[str]] = field(default_factory=dict)
    planned: dict[tuple[str, str], Memory] = field(default_factory=dict)
    batches: Batches | None = None
    """The batches that a dry run would send to a model; None without a model."""

    facts: KnownFacts = field(default_factory=KnownFacts)

    def show(self, what: str, text: str) -> None:
        """Add a text to the examples of a dry run."""
        some = self.examples.setdefault(what, [])
        if len(some) < MAX_EXAMPLES:
            some.append(text)


async def organize(
    here: Context,
    *,
    trigger: str,
    names: frozenset[str] = frozenset(),
    progress: Progress = no_progress,
    selector: "SentenceSelector | None" = None,
    silent: frozenset[str] = frozenset(),
    sources: Sources | None = None,
) -> OrganizerRun:
    """Run the organizer, or continue a run whose process has ended; raises Conflict.

    `names` are further lowercase names that distinguish two texts, such as services. A `selector`
    lets a model select sentences; it is closed at the end. Texts of `silent` agents are not read,
    because these save nothing. The facts are verified against the `sources`.
    """
    async with nullcontext() if selector is None else selector:
        run = await _begin(here.db, trigger, now=here.now())
        at = StageProgress(progress)
        work = _Work(here, names, at, selector, silent, run, facts=KnownFacts(names))
        if selector is not None:
            selector.used.update(run.counts)
        beating = asyncio.create_task(_beat(here, run, at))
        try:
            await _work(work)
            assert work.run is not None
            if sources is not None:
                work.run = await _verify_facts(here, sources, work.run, at)
            return await _finish(here, work)
        finally:
            beating.cancel()


async def preview(
    here: Context,
    *,
    names: frozenset[str] = frozenset(),
    progress: Progress = no_progress,
    silent: frozenset[str] = frozenset(),
    asks: bool = False,
) -> OrganizerReport:
    """Return the changes that a run would make now, without making them.

    No model is called; with `asks` the requests that a run would send are counted.
    """
    work = _Work(here, names, progress, silent=silent, facts=KnownFacts(names))
    work.batches = Batches() if asks else None
    async with reading(here.db):
        raw, _ = await runs.count_knowledge(here.db)
    await _work(work)
    for memory in work.planned.values():
        work.show("digests", memory.observation)
    counted = {name: work.counts[name] for name in COUNTED} | {"raw": raw}
    counted |= {name: work.counts[name] for name in OPTIONAL_COUNTED if work.counts[name]}
    counted["raw_after"] = raw + work.counts["digests"] + work.counts["facts"]
    counted["raw_after"] -= work.distilled
    return OrganizerReport(counts=counted, examples=work.examples)


async def queue(db: Database, *, now: datetime) -> OrganizerRun:
    """Queue a run for the supervisor, or return the queued one; raises Conflict if one runs."""
    async with writing(db):
        held = await runs.unfinished(db)
        if held is not None and held.waits(now):
            return held
        if held is not None:
            raise Conflict(f"Run {held.id} of the organizer is still working.")
        return await _insert(db, OPERATOR, "", now=now)


async def due(db: Database, interval: timedelta | None, *, now: datetime) -> str | None:
    """Return the trigger of the run to start or continue now; None if there is none."""
    async with reading(db):
        held = await runs.unfinished(db)
        if held is not None:
            return held.trigger if held.waits(now) else None
        last = await runs.newest(db)
        acts = [last.act_id] if last is not None and last.act_id is not None else []
        undone = bool(await runs.undone_by(db, acts)) if acts else False
        raw, distilled = await runs.count_knowledge(db)
    scheduled = is_due(
        last, undone=undone, interval=interval, raw=raw, distilled=distilled, now=now
    )
    return SCHEDULE if scheduled else None


async def _begin(db: Database, trigger: str, *, now: datetime) -> OrganizerRun:
    owner = uuid4().hex
    async with writing(db):
        unfinished = await runs.unfinished(db)
        if unfinished is None:
            return await _insert(db, trigger, owner, now=now)
        if not unfinished.waits(now):
            raise Conflict(f"Run {unfinished.id} of the organizer is still working.")
        await runs.take_over(db, unfinished, owner, now=now)
        return replace(unfinished, owner=owner)


async def _insert(db: Database, trigger: str, owner: str, *, now: datetime) -> OrganizerRun:
    act = await journal.insert(db, ORGANIZE, now=now, actor=trigger)
    raw, _ = await runs.count_knowledge(db)
    return await runs.insert(db, trigger=trigger, owner=owner, act_id=act, raw=raw, now=now)


async def _beat(here: Context, run: OrganizerRun, progress: StageProgress) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        async with writing(here.db):
            await runs.beat(here.db, run, progress, now=here.now())


async def _finish(here: Context, work: _Work) -> OrganizerRun:
    run = work.run
    assert run is not None
    assert run.act_id is not None
    db, now = here.db, here.now()
    async with writing(db):
        run = await runs.record(db, run, Counter(), now=now)
        assert run.act_id is not None
        act: int | None = run.act_id
        changed = sum(run.counts.get(each, 0) for each in CHANGING)
        if changed:
            await journal.finish(db, run.act_id, changed)
        else:
            await journal.withdraw(db, run.act_id)
            act = None
        raw, distilled = await runs.count_knowledge(db)
        return await runs.finish(db, run, act_id=act, raw=raw, distilled=distilled, now=now)


async def _work(work: _Work) -> None:
    rows = [memory async for some in _active(work.here.db) for memory in some]
    work.progress("compare", 0, len(rows))
    step = partial(work.progress, "compare")
    pairs = await asyncio.to_thread(find_duplicates, rows, work.names, step)
    older = {each.id for each, _ in pairs}
    await _merge_duplicates(work, pairs)
    rows = [each for each in rows if each.id not in older]
    work.facts.add_all(rows)
    async with reading(work.here.db):
        work.facts.add_waiting(await runs.waiting_facts(work.here.db))
        held = await runs.waiting_episodes(work.here.db)
    rows = [each for each in rows if each.id not in held]
    now = work.here.now()
    await _work_through(work, "extract", make_bundles(rows, now, recent=True))
    await _scan(work, rows)
    await _work_through(work, "compress", make_bundles(rows, now))


async def _work_through(work: _Work, stage: str, waiting: Sequence[Bundle]) -> None:
    """Extract facts from bundles of episodes, and compress the old ones."""
    whole, done = sum(len(each.episodes) for each in waiting), 0
    for at, bundle in enumerate(waiting):
        while bundle.episodes:
            most = BATCH if work.selector or work.batches else MAX_EPISODES
            first = replace(bundle, episodes=bundle.episodes[:most])
            plan = await _compress(work, first, waiting[at + 1 :])
            taken = {each.id for each in (plan.bundle if plan else first).episodes}
            left = tuple(each for each in bundle.episodes if each.id not in taken)
            bundle = replace(bundle, episodes=left)
            done += len(taken)
            work.progress(stage, done, whole)
            await asyncio.sleep(REST_SECONDS if work.run else 0)


async def _scan(work: _Work, rows: Sequence[Memory]) -> None:
    """Read sessions, events and incidents; add the counts of a dry run."""
    scan = SourceScan(work.here, work.facts, keys_of(rows), work.run, work.show, work.silent)
    await scan.scan(work.progress)
    work.run = scan.run
    work.counts += scan.counts


async def _active(db: Database) -> AsyncIterator[list[Memory]]:
    async for some in runs.active_knowledge(db):
        yield some
        await asyncio.sleep(0)


async def _merge_duplicates(work: _Work, pairs: Sequence[tuple[Memory, Memory]]) -> None:
    for at in range(0, len(pairs), PAIRS):
        some = pairs[at : at + PAIRS]
        if work.run is None:
            work.counts["duplicates"] += len(some)
            work.distilled += sum(not older.distilled for older, _ in some)
            for older, newer in some:
                text = newer.title or newer.observation
                work.show("duplicates", f"memory {older.id} repeats {newer.id}: {text}")
        else:
            await _store_duplicates(work, work.run, some)
            await asyncio.sleep(REST_SECONDS)
        work.progress("duplicates", min(at + PAIRS, len(pairs)), len(pairs))


async def _store_duplicates(
    work: _Work, run: OrganizerRun, pairs: Sequence[tuple[Memory, Memory]]
) -> None:
    """Supersede the older memory of each pair, unless either has changed since it was read."""
    db, now = work.here.db, work.here.now()
    async with writing(db):
        ids = [each.id for pair in pairs for each in pair]
        held = await memories.by_ids(db, ids)
        current = [pair for pair in pairs if all(_is_current(each, held) for each in pair)]
        assert run.act_id is not None
        intents = duplicate_intents(current, act_id=run.act_id, run=run.id)
        await store(db, intents, now=now)
        work.run = await runs.record(db, run, Counter(duplicates=len(current)), now=now)


async def _compress(work: _Work, bundle: Bundle, upcoming: Sequence[Bundle]) -> BundlePlan | None:
    """Process a bundle, or the first part of it; None if nothing of it is left."""
    db = work.here.db
    async with reading(db):
        held = await memories.by_ids(db, [each.id for each in bundle.episodes])
        now = work.here.now()
        left = [held[each.id] for each in bundle.episodes if each.id in held]
        belongs = is_recent_episode if bundle.recent else is_old_episode
        left = [each for each in left if belongs(each, now)]
        bundle = replace(bundle, episodes=tuple(left))
        earlier = await runs.by_topic_keys(db, bundle.project, digest_keys(bundle))
    if not bundle.episodes:
        return None
    if work.run is None:
        earlier |= {
            key: memory
            for (project, key), memory in work.planned.items()
            if project == bundle.project
        }
    selection = await _select(work, bundle, upcoming)
    plan = await asyncio.to_thread(plan_bundle, bundle, work.facts, earlier, selection)
    if work.run is None:
        _preview_bundle(work, plan)
        return plan
    return await _store_bundle(work, work.run, plan)


async def _select(work: _Work, bundle: Bundle, upcoming: Sequence[Bundle]) -> Selection:
    """Return a model's selection from a bundle; record its usage at once.

    Facts that were extracted before are left out, because a person may have rejected them.
    """
    if work.batches and (batch := work.batches.begin(bundle, upcoming)):
        work.counts["model_requests"] += bool(offer_sentences(batch))
    if work.selector is None or work.run is None:
        return NO_SELECTION
    selection, used = await work.selector.select(bundle, upcoming)
    async with reading(work.here.db):
        extracted = await runs.facts_of(work.here.db, [each.id for each in bundle.episodes])
    if used:
        db, now = work.here.db, work.here.now()
        async with writing(db):
            work.run = await runs.record(db, work.run, used, now=now)
    facts = {
        episode: tuple(
            each for each in some if (episode, comparison_key(each.text)) not in extracted
        )
        for episode, some in selection.facts.items()
    }
    return replace(selection, facts=facts)


def _preview_bundle(work: _Work, plan: BundlePlan) -> None:
    """Count the writes of a plan, and store the digests that later bundles would extend."""
    work.counts += plan.counts
    work.distilled += plan.raw
    now = work.here.now()
    for digest in plan.digests:
        memory = new_memory(digest_candidate(digest, plan.bundle, 0), now=now)
        work.planned[plan.bundle.project, digest.key] = memory
    for each in plan.facts:
        what = "conflicts" if each.contradicts else "known_facts" if each.existing else "facts"
        work.show(what, each.fact.text)
        text = replace(each.episode, observation=each.fact.text)
        if each.existing is None:
            work.facts.add(text)
        elif each.contradicts:
            work.facts.add_waiting([replace(text, active=False)])


async def _store_bundle(work: _Work, run: OrganizerRun, plan: BundlePlan) -> BundlePlan | None:
    """Store a plan if none of its memories has changed since; otherwise drop the plan."""
    db, now = work.here.db, work.here.now()
    about = [*plan.bundle.episodes, *plan.earlier.values()]
    async with writing(db):
        held = await memories.by_ids(db, [each.id for each in about])
        if not all(_is_current(each, held) for each in about):
            return replace(plan, bundle=replace(plan.bundle, episodes=()))
        assert run.act_id is not None
        plan = await admit_proposals(db, plan)
        intents = bundle_intents(plan, act_id=run.act_id, run=run.id, now=now)
        for memory in await store(db, intents, now=now):
            if memory.inactive_reason is InactiveReason.REVIEW:
                work.facts.add_waiting([memory])
            elif memory.active and memory.topic_key is None:
                work.facts.add(memory)
        for memory in plan.semantic:
            work.facts.add(memory)
        work.run = await runs.record(db, run, plan.counts, now=now)
    return plan


def _is_current(memory: Memory, held: Mapping[MemoryId, Memory]) -> bool:
    now = held.get(memory.id)
    return now is not None and now.version == memory.version and now.active == memory.active


FACTS_AT_ONCE: Final = 20


async def _verify_facts(
    here: Context,
    sources: Sources,
    run: OrganizerRun,
    progress: Progress,
) -> OrganizerRun:
    """Verify the untested facts that a run has written; return the run.

    A fact that passes becomes trusted and distilled; a refuted claim opens a review.
    """
    assert run.act_id is not None
    async with reading(here.db):
        made = await runs.created_by_act(here.db, run.act_id)
        ids = await verifications.due_among(here.db, made, before=here.now() - AGAIN_AFTER)
    for at in range(0, len(ids), FACTS_AT_ONCE):
        some = await verify_memories(here, sources, ids[at : at + FACTS_AT_ONCE])
        added = Counter(
            verified=sum(each.changed for each in some),
            refuted=sum(each.verdict.state is VerdictState.FAILED for each in some),
        )
        async with writing(here.db):
            run = await runs.record(here.db, run, added, now=here.now())
        progress("verify", min(at + FACTS_AT_ONCE, len(ids)), len(ids))
    return run
