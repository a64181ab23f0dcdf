"""Updates of the graph from memories, events, incidents and the services file.

One step reads a few changes of the feed in one short transaction. A memory that was changed,
withdrawn, deleted, restored or undone is read again: its relationships end and return with the
memory, whichever code path changed it.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from lamplighter.domain.change import Change, ChangeOp
from lamplighter.domain.graph.entity import (
    EVERYWHERE,
    Claim,
    EntityKind,
    EvidenceSource,
    Extraction,
    NamedEntity,
    RelationshipKind,
)
from lamplighter.domain.graph.extract import MAX_CHARS, TextContext, decision_title, extract
from lamplighter.domain.graph.names import fold_name
from lamplighter.domain.graph.proposal import RelationshipProposal, parse_proposal
from lamplighter.domain.graph.question import text_names
from lamplighter.domain.memory.knowledge import custom_title
from lamplighter.domain.memory.memory import GLOBAL, OPERATIONS, PROJECT, Memory, MemoryId
from lamplighter.domain.memory.review import Resolution, Review, ReviewKind, ReviewState
from lamplighter.domain.services.service import Services
from lamplighter.domain.text import content_hash
from lamplighter.repository import Database, reading
from lamplighter.repository.access.journal import UNDO
from lamplighter.repository.graph import evidence, position
from lamplighter.repository.graph.cache import GraphCache
from lamplighter.repository.graph.entities import Place
from lamplighter.repository.graph.evidence import Origin
from lamplighter.repository.graph.rows import entity_of
from lamplighter.repository.memory import history, memories, reviews
from lamplighter.repository.memory.trash import TRASH
from lamplighter.repository.services import events, incidents
from lamplighter.repository.store import changes
from lamplighter.repository.upkeep.batches import writing_in_background

CHANGES_AT_ONCE: Final = 100
MEMORIES_AT_ONCE: Final = 25
DECLARED: Final = 1.0
EDITED: Final = "The memory was edited after a person had confirmed this"
OPS: Final = Place(OPERATIONS, PROJECT)


async def follow(db: Database, services: Services | None, *, now: datetime) -> bool:
    """Take one step and return whether more may be left; without `services` theirs stay.

    A bulk act publishes one change of many memories: these are read in several transactions.
    """
    declared = None if services is None else content_hash(repr(_dependencies(services)))
    async with reading(db):
        cursor = await position.get(db)
        idle = cursor.memory_id is None and cursor.seq == await changes.last_seq(db)
        if idle and declared in (None, cursor.services):
            return False
        batch, more = list[Change](), True
        if cursor.memory_id is None:
            batch, more = await changes.next_batch(db, cursor.seq, limit=CHANGES_AT_ONCE)
    before, ids = cursor, _memory_ids(batch)
    while len(ids) > MEMORIES_AT_ONCE:  # if the process ends here, they are read again
        async with writing_in_background(db):
            await _follow_memories(db, ids[:MEMORIES_AT_ONCE], now=now)
            await _follow_confirmed(db, ids[:MEMORIES_AT_ONCE], now=now)
        ids = ids[MEMORIES_AT_ONCE:]
    async with writing_in_background(db):
        cursor = await position.get(db)
        if services is not None and declared not in (None, cursor.services):
            await _follow_services(db, services, now=now)
            cursor = replace(cursor, services=declared)
        if cursor.memory_id is not None:
            ids = await position.memory_ids_after(db, cursor.memory_id, limit=MEMORIES_AT_ONCE)
            await _follow_memories(db, ids, now=now)
            await _follow_confirmed(db, ids, now=now)
            cursor = replace(cursor, memory_id=ids[-1] if ids else None)
        elif (before.memory_id, before.seq) == (None, cursor.seq):
            await _follow_changes(db, batch, ids, now=now)
            cursor = replace(cursor, seq=batch[-1].seq if batch else cursor.seq)
        else:
            more = True  # another process has taken this step meanwhile
        await position.save(db, cursor)
    return more


def _memory_ids(batch: Sequence[Change]) -> list[int]:
    return sorted({n for each in batch if each.entity == memories.ENTITY for n in each.ids})


async def _follow_changes(
    db: Database, batch: Sequence[Change], ids: Sequence[int], *, now: datetime
) -> None:
    """Follow changes; `ids` are those of their memories that are not read again yet."""
    await _follow_memories(db, ids, now=now)
    judged = {_judged(each.row) for each in batch if each.entity == reviews.ENTITY and each.row}
    await _follow_confirmed(db, sorted({*ids, *judged} - {0}), now=now)
    gone = {number for each in batch if each.entity == TRASH for number in each.ids}
    if gone:
        await evidence.forget(db, gone, now=now)
    for each in batch:
        if each.entity == events.ENTITY and each.op is ChangeOp.CREATED and each.row:
            await _follow_event(db, each.entity_id, each.row, now=now)
        elif each.entity == incidents.ENTITY and each.row:
            await _follow_incident(db, each.entity_id, each.row, now=now)


async def _follow_memories(db: Database, ids: Sequence[int], *, now: datetime) -> None:
    """Read memories again; deleted and inactive ones no longer state anything."""
    if not ids:
        return
    active = {memory.id: memory for memory in await memories.list_by_ids(db, ids) if memory.active}
    cache = GraphCache(db)
    await cache.load_evidence(EvidenceSource.MEMORY, ids)
    names: dict[str, set[str]] = {}
    for memory in active.values():
        some = names.setdefault(_place(memory).project, set())
        some.update(_names(memory.observation), [memory.service or ""])
    for project, some in names.items():
        await cache.owners(some, project)
    for number in ids:
        await asyncio.sleep(0)  # these reads block the event loop: let requests pass
        place, found = OPS, Extraction()
        if (each := active.get(MemoryId(number))) is not None:
            place, found = _place(each), await read_memory(cache, each)
        origin = Origin(EvidenceSource.MEMORY, number, place)
        await evidence.sync(db, origin, found, cache, now=now)


def _judged(review: Mapping[str, Any]) -> int:
    """Return the memory whose relationship a person has reviewed, 0 for another kind of review."""
    if review["kind"] != ReviewKind.RELATIONSHIP or review["old"] is None:
        return 0
    return int(review["old"]["id"])


async def _follow_confirmed(db: Database, ids: Sequence[int], *, now: datetime) -> None:
    """Update the graph with relationships that models found in memories and a person confirmed.

    They are valid while the memory is active and names both ends in the confirmed sentence. A
    different sentence needs another review by a person.
    """
    claims: dict[int, list[Claim]] = {
        number: [] for number in await evidence.memories_of_models(db, ids)
    }
    confirmed = await reviews.confirmed_in(db, ids)
    numbers = {*claims, *(each.old_id for each in confirmed)}
    stored = await memories.by_ids(db, [MemoryId(each) for each in numbers])
    by_claim: dict[tuple[int, str], list[Review]] = {}
    for each in confirmed:
        by_claim.setdefault((each.old_id, each.observation), []).append(each)
    for (of, claim), some in by_claim.items():
        proposal, memory = parse_proposal(claim), stored.get(MemoryId(of))
        mine = claims.setdefault(of, [])
        if proposal is None or memory is None or not memory.active:
            continue
        if await _holds(db, memory, proposal, some, now=now):
            mine.append(proposal.claim)
    for of, mine in claims.items():
        place = _place(stored[MemoryId(of)]) if of in stored else OPS
        origin = Origin(EvidenceSource.MODEL, of, place)
        await evidence.sync(db, origin, Extraction(claims=tuple(mine)), now=now)


async def _holds(
    db: Database,
    memory: Memory,
    proposal: RelationshipProposal,
    confirmed: Sequence[Review],
    *,
    now: datetime,
) -> bool:
    """Return whether a memory states the confirmed relationship; an edited sentence opens a review.

    Each sentence that a person confirmed counts. The review is resolved if the edit is undone.
    """
    later = await reviews.of_claim_after(db, confirmed[0])
    if await _follows(db, memory, proposal, confirmed):
        for each in later:
            if each.state is ReviewState.OPEN and each.reason == EDITED:
                await reviews.resolve(db, each, Resolution.GONE, by=UNDO, now=now)
        return proposal.is_stated_in(memory.observation)
    unanswered = all(each.id <= confirmed[-1].id for each in later)
    if unanswered and proposal.is_stated_in(memory.observation):
        await reviews.propose(db, memory, confirmed[0].observation, EDITED, now=now)
    return False


async def _follows(
    db: Database, memory: Memory, proposal: RelationshipProposal, confirmed: Sequence[Review]
) -> bool:
    """Return whether a memory contains one of the sentences that a person confirmed."""
    for each in confirmed:
        assert each.resolved_at is not None
        earlier = await history.text_before(db, memory.id, each.resolved_at)
        if earlier is None or proposal.still_follows(memory.observation, earlier):
            return True
    return False


async def read_memory(cache: GraphCache, memory: Memory) -> Extraction:
    """Return the statements of a memory, with the names of entities that exist in its project."""
    text, place = memory.observation, _place(memory)
    context = TextContext(
        project=memory.project,
        service=memory.service,
        decision=decision_title(memory.category, custom_title(memory), text),
    )
    return await _read(cache, text, context, place)


async def _follow_event(db: Database, number: int, row: dict[str, Any], *, now: datetime) -> None:
    """Read an event once: it is about its service, and states facts as of its time."""
    context = TextContext(service=row.get("service"))
    found = await _read(GraphCache(db), str(row.get("text", "")), context, OPS)
    if found.claims:
        stated = replace(found, entities=())
        await evidence.sync(db, Origin(EvidenceSource.EVENT, number, OPS), stated, now=now)


async def _follow_incident(
    db: Database, number: int, row: dict[str, Any], *, now: datetime
) -> None:
    """Read the note of an incident, again after each change: it is about its root service."""
    context = TextContext(service=row.get("service"))
    found = await _read(GraphCache(db), str(row.get("note") or ""), context, OPS)
    origin = Origin(EvidenceSource.INCIDENT, number, OPS)
    await evidence.sync(db, origin, replace(found, entities=()), now=now)


@lru_cache(CHANGES_AT_ONCE)
def _names(text: str) -> list[str]:
    return text_names(text[:MAX_CHARS])


async def _read(cache: GraphCache, text: str, context: TextContext, place: Place) -> Extraction:
    owners = await cache.owners(_names(text), place.project)
    rows = await cache.rows(set(owners.values()))
    held = {number: entity_of(row) for number, row in rows.items()}
    kinds = {folded: held[number].kind for folded, number in owners.items() if number in held}
    if kinds:
        context = replace(context, kind_of=lambda name: kinds.get(fold_name(name)))
    found = extract(text, context)
    named = [held[number] for number in dict.fromkeys(owners.values()) if number in held]
    mentioned = [  # a mention of a decision is no evidence: the decision has its own memory
        NamedEntity(each.name, each.kind) for each in named if each.kind is not EntityKind.DECISION
    ]
    return replace(found, entities=(*found.entities, *mentioned))


def _place(memory: Memory) -> Place:
    if memory.scope == GLOBAL:
        return Place(EVERYWHERE, GLOBAL)
    return Place(memory.project, PROJECT)


def _dependencies(services: Services) -> list[tuple[str, Collection[str]]]:
    return [(each.name, each.depends_on) for each in services]


async def _follow_services(db: Database, services: Services, *, now: datetime) -> None:
    """Update the graph with the declared services and their dependencies."""
    declared = _dependencies(services)
    named = {name: NamedEntity(name, EntityKind.SERVICE) for name, _ in declared}
    claims = [
        Claim(named[name], RelationshipKind.DEPENDS_ON, named[other], DECLARED)
        for name, needs in declared
        for other in needs
        if other in named
    ]
    extraction = Extraction(tuple(named.values()), tuple(claims))
    await evidence.sync(db, Origin(EvidenceSource.SERVICES, 0, OPS), extraction, now=now)
