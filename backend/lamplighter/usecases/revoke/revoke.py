"""The preview of a revocation, and the revocation as one act with one undo."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.errors import Conflict, NotFound, require
from lamplighter.domain.memory.intents import REVIVES, ChangeOrigin, MemoryChange, MemoryLink
from lamplighter.domain.memory.memory import OPERATIONAL, Memory, MemoryId
from lamplighter.domain.memory.review import Review, ReviewState
from lamplighter.domain.organize.plan import COMPRESSES, EXTRACTED_FROM
from lamplighter.domain.relate import Analysis, Lexicon, Relation, RelationVerdict, analyze
from lamplighter.domain.relate.nearest import lookup_terms
from lamplighter.domain.relate.reconcile import verdict_on
from lamplighter.domain.revoke.origin import OriginKind, TeachingOrigin, parse_origin
from lamplighter.domain.revoke.plan import Heir, RevocationPlan, plan_revocation
from lamplighter.domain.revoke.replay import REVOKED, ReplayRules
from lamplighter.domain.sessions.session import Status
from lamplighter.domain.text import comparison_key
from lamplighter.formats.upkeep import revocation as as_json
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal as acts
from lamplighter.repository.clients import agents, imports
from lamplighter.repository.memory import evidence, history, links, memories, reviews, trash
from lamplighter.repository.memory.bulk import publish
from lamplighter.repository.memory.history import DELETED
from lamplighter.repository.organize import sources
from lamplighter.repository.revoke import steps
from lamplighter.repository.search import analyses
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.database import trying
from lamplighter.repository.writes import NEAREST, store
from lamplighter.usecases.access.recording import Recording, recorded, recording
from lamplighter.usecases.effect.prompts import (
    PromptContext,
    PromptEffect,
    compare,
    read_prompts,
    scopes_of,
)
from lamplighter.usecases.memory import journal
from lamplighter.usecases.memory.curate import find_key_holder
from lamplighter.usecases.memory.journal import RevertResult

CREATED: Final = "created"
UNRELATED: Final = RelationVerdict(Relation.UNRELATED, "shares no term")
MAX_PAIRS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """The changes that a revocation makes, or made.

    `derived` are memories that the organizer wrote from removed memories and from others: they
    stay. `effects` are the prompts that change; `act` is the act in the journal.
    """

    origin: TeachingOrigin
    plan: RevocationPlan
    derived: tuple[Memory, ...] = ()
    effects: Sequence[PromptEffect] = ()
    act: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the revocation as JSON."""
        found = as_json.revocation(self.origin, self.plan, self.derived, self.act)
        return {**found, "effects": [each.as_json() for each in self.effects]}


@dataclass(slots=True)
class _Revoking:
    """A revocation in progress."""

    here: PromptContext
    origin: TeachingOrigin
    plan: RevocationPlan
    act: Recording
    now: datetime

    @property
    def db(self) -> Database:
        """The database."""
        return self.here.db

    def why(self, cause: str) -> ChangeOrigin:
        """Return the origin that the history records for a change."""
        return self.act.why(cause, f"without {self.origin}")


async def preview(here: PromptContext, origin: TeachingOrigin) -> Revocation:
    """Return the changes that a revocation would make, without making them.

    Raises NotFound, Conflict.
    """
    now, act = here.now(), recorded.get()
    async with trying(here.db):
        revocation = await _revoke(here, origin, now=now)
        plan = revocation.plan
        scopes = scopes_of([*plan.removed, *(each for pair in plan.changed for each in pair)])
        after = await read_prompts(here, scopes, now=now)
    recorded.set(act)
    before = await read_prompts(here, scopes, now=now)
    return replace(revocation, effects=compare(before, after))


async def revoke(here: PromptContext, origin: TeachingOrigin) -> Revocation:
    """Revert everything learned from an origin, in one act; raises NotFound, Conflict."""
    recorded.set(None)
    async with writing(here.db):
        found = await _revoke(here, origin, now=here.now())
    return replace(found, act=recorded.get())


async def undo(db: Database, act: int, *, now: datetime) -> RevertResult:
    """Undo a revocation as one act; raises NotFound, Conflict."""
    entry = await acts.get(db, act)
    if entry is None or entry.action != steps.ACTION:
        raise NotFound(f"Act {act} is not a revocation.")
    return await journal.undo(db, act, now=now)


async def _revoke(here: PromptContext, origin: TeachingOrigin, *, now: datetime) -> Revocation:
    plan, derived = await _plan(here, origin, now=now)
    async with recording(here.db, steps.ACTION, now=now, subject=str(origin)) as act:
        await _apply(_Revoking(here, origin, plan, act, now))
    if said := await steps.sessions_of(here.db, origin):
        await sources.skip_sessions(here.db, said, now=now)
    return Revocation(origin=origin, plan=plan, derived=derived)


async def _plan(
    here: PromptContext, origin: TeachingOrigin, *, now: datetime
) -> tuple[RevocationPlan, tuple[Memory, ...]]:
    db, lexicon = here.db, here.active.lexicon
    await _check(here, origin)
    made = await steps.made_by(db, origin)
    cluster = await _cluster(db, {MemoryId(each) for each in made.values()}, lexicon)
    existing = await memories.by_ids(db, sorted(cluster))
    rules = ReplayRules(
        existing=existing,
        compare=_Comparison(lexicon),
        settled=await reviews.compatible_among(db, list(existing)) if existing else (),
        chosen=await steps.chosen_among(db, set(made.values())),
    )
    whole = await steps.of_memories(db, existing)
    earlier = await _earlier(db)
    plan = await asyncio.to_thread(
        plan_revocation, whole, made.keys(), rules, earlier=earlier, now=now
    )
    return await _with_derived(db, plan)


async def _check(here: PromptContext, origin: TeachingOrigin) -> None:
    db = here.db
    if origin.kind is OriginKind.AGENT:
        known = {each.name for each in here.active.agents}
        if origin.name not in known | (await agents.activity_by_agent(db)).keys():
            raise NotFound(f"Agent {origin.name!r} not found.")
    if origin.kind is not OriginKind.SESSION:
        return
    session = require(await sessions.get(db, int(origin.name)), f"Session {origin.name} not found.")
    if session.status is Status.RUNNING and session.tier:
        raise Conflict(f"Session {origin.name} is still running. Stop it first.")


async def _cluster(db: Database, taught: set[MemoryId], lexicon: Lexicon) -> set[MemoryId]:
    """Return the memories that an origin touched, and those that may have the same subject."""
    cluster = set(taught)
    cluster |= await steps.linked(db, taught)
    for memory in await memories.list_by_ids(db, sorted(taught)):
        if memory.category in OPERATIONAL:
            analysis = analyze(memory.observation, lexicon, service=memory.service)
            group, terms = (memory.service, memory.category), lookup_terms(analysis)
            cluster |= set(await analyses.nearest(db, group, terms, lexicon, limit=NEAREST))
    return cluster | await steps.linked(db, cluster)


@dataclass(slots=True)
class _Comparison:
    """Compares claims that share a term, by the same rules as reports; each pair once."""

    lexicon: Lexicon
    analyses: dict[tuple[str, str | None], Analysis] = field(default_factory=dict)
    terms: dict[tuple[str, str | None], frozenset[str]] = field(default_factory=dict)
    judged: dict[tuple[str, str, str | None], RelationVerdict] = field(default_factory=dict)

    def __call__(self, claim: Memory, other: Memory) -> RelationVerdict:
        key = claim.observation, other.observation, claim.service
        if key not in self.judged:
            self.judged[key] = self._judge(claim, other)
        return self.judged[key]

    def _judge(self, claim: Memory, other: Memory) -> RelationVerdict:
        analysis, known = self._analysis(claim), self._analysis(other)
        shared = self._terms(claim) & self._terms(other)
        if not shared and comparison_key(claim.observation) != comparison_key(other.observation):
            return UNRELATED
        return verdict_on(claim.observation, analysis, other, known, self.lexicon)

    def _analysis(self, memory: Memory) -> Analysis:
        key = memory.observation, memory.service
        if key not in self.analyses:
            analysis = analyze(memory.observation, self.lexicon, service=memory.service)
            self.analyses[key] = analysis
            self.terms[key] = lookup_terms(analysis)
        return self.analyses[key]

    def _terms(self, memory: Memory) -> frozenset[str]:
        return self.terms[memory.observation, memory.service]


async def _earlier(db: Database) -> set[int]:
    """Return the steps that active revocations have reverted."""
    found: set[int] = set()
    for subject, entry in await steps.revocations(db):
        origin = parse_origin(subject)
        if origin is not None:
            found |= (await steps.made_by(db, origin, before=entry)).keys()
    return found


async def _with_derived(
    db: Database, plan: RevocationPlan
) -> tuple[RevocationPlan, tuple[Memory, ...]]:
    """Remove memories derived from removed ones alone; return those with other sources too."""
    gone = {each.id for each in plan.removed}
    numbers = await steps.derived(db, gone, (COMPRESSES, EXTRACTED_FROM)) - gone
    existing = await memories.list_by_ids(db, sorted(numbers))
    sources = await steps.sources_of(db, numbers, (COMPRESSES, EXTRACTED_FROM))
    alone = [each for each in existing if sources[each.id] <= gone]
    mixed = tuple(each for each in existing if not sources[each.id] <= gone)
    return replace(plan, removed=(*plan.removed, *alone)), mixed


async def _apply(work: _Revoking) -> None:
    """Apply the plan, in the transaction of the caller."""
    plan, db = work.plan, work.db
    for before, after in plan.changed:
        if await find_key_holder(db, before, after) is not None:
            after = replace(after, topic_key=None)
        await store(db, [MemoryChange(before, after, work.why(REVOKED))], now=work.now)
    claims = {each.replaces: await _open_reviews(db, each) for each in plan.heirs}
    gone = [each.id for each in plan.removed]
    if gone:
        await trash.move(db, gone, work.why(DELETED), now=work.now)
    tiers = await steps.tiers_of(db, {each.memory.session_id or 0 for each in plan.heirs})
    for heir in plan.heirs:
        memory = await _insert_heir(work, heir, tiers)
        for review in claims[heir.replaces]:
            await _open_again(work, review, heir, memory)
    rows = len(plan.changed) + len(gone) + len(plan.heirs)
    if rows:
        work.act.did(rows=rows)


async def _insert_heir(work: _Revoking, heir: Heir, tiers: dict[int, int]) -> Memory:
    """Insert a memory with its history, as if its session had learned it."""
    tier = tiers.get(heir.memory.session_id or 0, heir.memory.tier)
    version = len(heir.trail)
    new = replace(heir.memory, tier=tier, version=version, duplicate_count=1, last_seen_at=None)
    memory = await imports.insert(work.db, new, number=None)
    before: Memory | None = None
    for number, step in enumerate(heir.trail, 1):
        after = replace(step.after, id=memory.id, tier=tier, version=number)
        why = ChangeOrigin(
            cause=CREATED if before is None else step.cause,
            actor="operator" if step.session_id is None else "session",
            reason=f"without {work.origin}",
            session_id=step.session_id,
            act_id=work.act.id,
        )
        await history.append(work.db, before, after, why, now=step.at)
        before = after
    if heir.replaces not in {each.id for each in work.plan.removed}:
        link = MemoryLink(memory.id, heir.replaces, REVIVES, memory.session_id, work.act.id)
        await links.insert(work.db, link, now=work.now)
    await publish(work.db, [memory.id], ChangeOp.CREATED, now=work.now)
    return memory


async def _open_reviews(db: Database, heir: Heir) -> list[Review]:
    """Return the open reviews of the memory that an heir replaces."""
    others = await evidence.contradicting(db, heir.replaces, limit=MAX_PAIRS)
    found = await reviews.between(db, heir.replaces, others) if others else []
    return [each for each in found if each.state is ReviewState.OPEN]


async def _open_again(work: _Revoking, review: Review, heir: Heir, memory: Memory) -> None:
    """Open a review for the new memory, which has the claim of the memory that it replaces."""
    other = review.new_id if review.old_id == heir.replaces else review.old_id
    existing = await memories.get(work.db, other)
    if existing is None or not existing.active:
        return
    await reviews.insert(
        work.db,
        review.kind,
        existing,
        memory.id,
        text=memory.observation,
        reason=review.reason,
        session_id=memory.session_id,
        now=work.now,
    )
