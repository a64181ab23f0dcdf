"""Views of the graph: an entity with its neighbors and evidence, and decisions with reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.graph.entity import (
    EVERYWHERE,
    RATIONALE,
    Entity,
    EntityKind,
    Relationship,
    RelationshipKind,
)
from lamplighter.domain.graph.names import fold_name
from lamplighter.domain.graph.question import decision_score, question_names
from lamplighter.domain.memory.memory import OPERATIONS, Memory, MemoryId, Reach
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.graph import entities, evidence, relationships
from lamplighter.repository.graph.entities import EntityFilter
from lamplighter.repository.graph.relationships import RelationshipFilter
from lamplighter.repository.memory import memories

MAX_NODES: Final = 200
MAX_EDGES: Final = 1_000
MAX_NEIGHBORS: Final = 100
MAX_EVIDENCE: Final = 50
MAX_DECISIONS: Final = 10
SCANNED_DECISIONS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCase:
    """An entity with its names, its relationships, their other ends, and the evidence.

    `evidence` are the memories that name the entity or state one of its relationships, by
    relationship ID; under 0 are those that only name the entity. `merged` are the entities that are
    merged into it.
    """

    entity: Entity
    names: list[str]
    merged: list[Entity]
    relationships: list[Relationship]
    neighbors: dict[int, Entity]
    evidence: dict[int, list[Memory]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """A part of the graph around a center; `depths` are steps from it. `more` means truncated."""

    center: Entity
    nodes: list[Entity]
    depths: dict[int, int]
    edges: list[Relationship]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCase:
    """A decision: its reason, its deciders, what it concerns, and the memories that state it."""

    decision: Entity
    rationale: str
    decided_by: list[Entity]
    concerns: list[Entity]
    memories: list[Memory]

    def as_json(self) -> dict[str, Any]:
        """Return the decision as JSON."""
        return {
            "decision": serialize.entity(self.decision),
            "rationale": self.rationale,
            "decided_by": [serialize.entity(each) for each in self.decided_by],
            "concerns": [serialize.entity(each) for each in self.concerns],
            "memories": [serialize.memory(each) for each in self.memories],
        }


async def find_entity(
    db: Database, name: str, *, project: str | None = None, reach: Reach | None = None
) -> Entity:
    """Return the entity with a name or an ID; raises NotFound, and Conflict for several."""
    if name.isascii() and name.isdigit():
        entity = await entities.get(db, int(name[:15]), reach)
        if entity is not None and entity.deleted_at is None:
            return entity
    home = reach.project if reach is not None else project
    found = await entities.named(db, [name], home, reach)
    some = [each for each in found.get(fold_name(name), []) if each.deleted_at is None]
    if not some:
        raise NotFound(f"No entity is named {name[:80]!r}.")
    if len(some) > 1 and home is None:
        names = ", ".join(sorted({each.project or "every project" for each in some}))
        raise Conflict(f"Several projects have this entity: {names}. Name the project.")
    return some[0]


async def entity_case(db: Database, entity: Entity, reach: Reach | None = None) -> EntityCase:
    """Return an entity with everything related to it within the caller's reach."""
    async with reading(db):
        edges = await relationships.of_entities(db, [entity.id], reach, limit=MAX_NEIGHBORS)
        ends = {end for each in edges for end in (each.source_id, each.target_id)}
        members = (await entities.members_of(db, [entity.id]))[entity.id]
        targets = [("entity_id", number) for number in members]
        targets += [("relationship_id", each.id) for each in edges]
        return EntityCase(
            entity=entity,
            names=(await entities.names_of(db, [entity.id]))[entity.id],
            merged=list((await entities.by_ids(db, members - {entity.id})).values()),
            relationships=edges,
            neighbors=await entities.by_ids(db, ends - {entity.id}),
            evidence=await evidence_memories(db, targets, reach),
        )


async def graph_around(
    db: Database, center: Entity, reach: Reach | None = None, *, depth: int, limit: int = MAX_NODES
) -> GraphView:
    """Return the entities within `depth` steps of one, the nearest first, and their edges."""
    async with reading(db):
        reachable = await relationships.reachable(
            db, center.id, reach, depth=depth, limit=limit + 1
        )
        depths = dict(list(reachable.items())[:limit])
        held = await entities.by_ids(db, depths)
        edges = await relationships.among(db, depths, reach, limit=MAX_EDGES + 1)
    return GraphView(
        center=center,
        nodes=[held[number] for number in depths if number in held],
        depths=depths,
        edges=edges[:MAX_EDGES],
        more=len(reachable) > limit or len(edges) > MAX_EDGES,
    )


async def why(
    db: Database, question: str, *, project: str | None = None, reach: Reach | None = None
) -> list[DecisionCase]:
    """Return the decisions that match a question, the best match first.

    A decision matches by an entity that it concerns and that the question names, or by the text of
    the decision itself. Ended and deleted decisions are left out.
    """
    home = reach.project if reach is not None else project
    async with reading(db):
        decisions = await _decisions_about(db, question, home, reach)
        chosen = EntityFilter(kind=EntityKind.DECISION, reach=reach)
        page = await entities.page(db, chosen, limit=SCANNED_DECISIONS)
        scored = {
            each.id: (decision_score(question, f"{each.name} {_rationale(each)}"), each)
            for each in page.items
            if home is None or each.project in (home, EVERYWHERE)
        }
        for each in decisions:
            score = scored.get(each.id, (0.0, each))[0]
            scored[each.id] = (score + 1, each)
        best = sorted(
            (pair for pair in scored.values() if pair[0] >= 0.5),
            key=lambda pair: (-pair[0], -pair[1].id),
        )
        return [await _case(db, each, reach) for _, each in best[:MAX_DECISIONS]]


async def count_graph(db: Database, project: str) -> tuple[int, int]:
    """Return the number of current entities and relationships that a project reads."""
    reach = Reach(project)
    return (
        await entities.count(db, EntityFilter(reach=reach)),
        await relationships.count(db, RelationshipFilter(reach=reach)),
    )


async def related_services(db: Database, services: Services, names: Sequence[str]) -> list[str]:
    """Return the declared neighbors of some services, followed by those of the knowledge graph.

    Those of the graph are ordered by confidence, the highest first.
    """
    declared = services.neighbors(names)
    own = {normalize_service_name(name) for name in (*names, *declared)}
    reach = Reach(OPERATIONS)
    named = await entities.named(db, names, OPERATIONS, reach)
    centers = {each.id for some in named.values() for each in some if each.current}
    if not centers:
        return declared
    edges = await relationships.of_entities(db, centers, reach, limit=MAX_NEIGHBORS)
    ends = [end for each in edges for end in (each.source_id, each.target_id)]
    around = await entities.by_ids(db, set(ends) - centers)
    found = [around[end] for end in dict.fromkeys(ends) if end in around]
    return [
        *declared,
        *(
            each.name
            for each in found
            if each.kind is EntityKind.SERVICE
            and each.current
            and normalize_service_name(each.name) not in own
        ),
    ]


async def evidence_memories(
    db: Database, targets: Sequence[evidence.Target], reach: Reach | None
) -> dict[int, list[Memory]]:
    """Return the memories behind entities (under 0) and relationships (under their ID)."""
    rows = [
        row
        for row in await evidence.list_for(db, targets, limit=MAX_EVIDENCE)
        if row["source"] in evidence.OF_MEMORIES
    ]
    ids = list(dict.fromkeys(MemoryId(row["source_id"]) for row in rows))
    held = await memories.by_ids(db, ids)
    found: dict[int, list[Memory]] = {}
    for row in rows:
        memory = held.get(row["source_id"])
        if memory is not None and (reach is None or reach.holds(memory)):
            found.setdefault(row["relationship_id"] or 0, []).append(memory)
    return found


async def _decisions_about(
    db: Database, question: str, home: str | None, reach: Reach | None
) -> list[Entity]:
    """Return the current decisions among the entities named in a question, and their neighbors."""
    named = await entities.named(db, question_names(question), home, reach)
    centers = {each.id: each for some in named.values() for each in some if each.current}
    edges = await relationships.of_entities(db, centers, reach, limit=MAX_NEIGHBORS)
    ends = {end for each in edges for end in (each.source_id, each.target_id)}
    around = {**(await entities.by_ids(db, ends)), **centers}
    return [each for each in around.values() if each.kind is EntityKind.DECISION and each.current]


async def _case(db: Database, decision: Entity, reach: Reach | None) -> DecisionCase:
    case = await entity_case(db, decision, reach)
    ends: dict[RelationshipKind, list[Entity]] = {}
    for each in case.relationships:
        if each.source_id == decision.id and each.target_id in case.neighbors:
            ends.setdefault(each.kind, []).append(case.neighbors[each.target_id])
    by_id = {memory.id: memory for some in case.evidence.values() for memory in some}
    return DecisionCase(
        decision=decision,
        rationale=_rationale(decision),
        decided_by=ends.get(RelationshipKind.DECIDED_BY, []),
        concerns=ends.get(RelationshipKind.CONCERNS, []),
        memories=[by_id[number] for number in sorted(by_id, reverse=True)],
    )


def _rationale(decision: Entity) -> str:
    return str(decision.properties.get(RATIONALE, ""))
