"""Shapes of the knowledge graph: entities and relationships in responses and requests."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, Name, PageQuery, Seq, page_of, public_shape
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.domain.graph.entity import (
    MAX_PROPERTIES,
    MAX_PROPERTY_CHARS,
    Entity,
    EntityKind,
    Relationship,
    RelationshipKind,
)
from lamplighter.domain.graph.names import MAX_NAME_CHARS
from lamplighter.domain.memory.memory import OPERATIONS

EntityName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARS, pattern=r"^[^\x00]*$")]
ProjectName = Annotated[str, Meta(max_length=MAX_NAME_CHARS, pattern=r"^[^\x00]*$")]
PropertyText = Annotated[str, Meta(max_length=MAX_PROPERTY_CHARS, pattern=r"^[^\x00]*$")]
Properties = Annotated[dict[EntityName, PropertyText], Meta(max_length=MAX_PROPERTIES)]
Aliases = Annotated[list[EntityName], Meta(max_length=50)]
Confidence = Annotated[float, Meta(ge=0, le=1)]
State = Literal["current", "past", "all"]


@public_shape(Entity, valid_to=("current", bool))
class EntityOut(Struct):
    """An entity. `current` is false once it is deleted, merged, or no longer mentioned."""


@public_shape(Relationship)
class RelationshipOut(Struct):
    """A relationship, read from source to target; `valid_to` is null while it is valid."""


class NeighborOut(Struct):
    """A relationship of an entity, the entity at its other end, and the memories behind it."""

    relationship: RelationshipOut
    entity: EntityOut
    evidence: list[MemoryOut]


class EntityCaseOut(EntityOut):
    """An entity with all its names, its neighbors, and the memories that name it.

    `merged` are the entities that are merged into it.
    """

    names: list[str]
    merged: list[EntityOut]
    neighbors: list[NeighborOut]
    evidence: list[MemoryOut]


class EntityRowOut(EntityOut):
    """An entity of a list, with the number of its current relationships."""

    relationships: int


EntityPage = page_of(
    EntityRowOut,
    "A page of entities, newest first, and their total number.",
    name="EntityPage",
    seq=Seq,
    total=int,
)
RelationshipPage = page_of(
    RelationshipOut,
    "A page of relationships, newest first, and their total number.",
    seq=Seq,
    total=int,
)


class GraphNodeOut(EntityOut):
    """An entity of the graph; `depth` is its distance from the center in steps."""

    depth: int


class GraphOut(Struct):
    """The entities around a center, nearest first, and the relationships between them.

    `more` is true if not all of them are included.
    """

    center: int
    nodes: list[GraphNodeOut]
    edges: list[RelationshipOut]
    more: bool
    seq: Seq


class DecisionOut(Struct):
    """A decision: its rationale, who decided, the entities it concerns, and its memories."""

    decision: EntityOut
    rationale: str
    decided_by: list[EntityOut]
    concerns: list[EntityOut]
    memories: list[MemoryOut]


class DecisionsOut(Struct):
    """The decisions that answer a question, the best match first."""

    question: str
    decisions: list[DecisionOut]
    seq: Seq


class EntityQuery(PageQuery):
    """Filters for entities; `q` matches any of their names."""

    q: Name | None = None
    kind: EntityKind | None = None
    project: Name | None = None
    state: State = "current"


class RelationshipQuery(PageQuery):
    """Filters for relationships; `entity` is the source or the target."""

    entity: Seq | None = None
    kind: RelationshipKind | None = None
    project: Name | None = None
    state: State = "current"


class GraphQuery(Struct):
    """The center, by id or any of its names, and how far to go."""

    center: EntityName
    depth: Annotated[int, Meta(ge=1, le=5)] = 1
    project: Name | None = None
    limit: Limit = 100


class WhyQuery(Struct):
    """The question, in any wording."""

    q: Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]
    project: Name | None = None


class EntityIn(Struct):
    """A new entity; an empty project makes it readable from every project."""

    name: EntityName
    kind: EntityKind
    project: ProjectName = OPERATIONS
    properties: Properties = {}
    aliases: Aliases = []


class EntityEditIn(Struct):
    """The fields to change; `aliases` are added, `properties` replace all earlier ones."""

    name: EntityName | None = None
    kind: EntityKind | None = None
    properties: Properties | None = None
    aliases: Aliases = []


class MergeIn(Struct):
    """The entity to merge into."""

    into: Seq


class RelationshipIn(Struct):
    """A new relationship between two entities of one project."""

    source_id: Seq
    kind: RelationshipKind
    target_id: Seq
    properties: Properties = {}
    confidence: Confidence = 1.0


class RelationshipEditIn(Struct):
    """The fields to change; `valid` false ends the relationship now."""

    properties: Properties | None = None
    confidence: Confidence | None = None
    valid: bool | None = None
