"""Entities and relationships: the nodes and edges of the knowledge graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.fields import Field
from lamplighter.domain.graph.names import MAX_NAME_CHARS, fold_name
from lamplighter.domain.memory.memory import GLOBAL, PROJECT
from lamplighter.domain.text import one_line

EVERYWHERE: Final = ""
"""The project of an entity that global memories name: visible to every project."""

RATIONALE: Final = "rationale"
"""The property of a decision with its reason."""

MAX_PROPERTIES: Final = 50
MAX_PROPERTY_CHARS: Final = 2_000


class EntityKind(StrEnum):
    """The kind of an entity."""

    DECISION = "decision"
    PROJECT = "project"
    PERSON = "person"
    TOOL = "tool"
    ORGANIZATION = "organization"
    CONCEPT = "concept"
    SERVICE = "service"


class RelationshipKind(StrEnum):
    """The relation of one entity to another, read from source to target."""

    WORKS_ON = "works_on"
    DEPENDS_ON = "depends_on"
    DECIDED_BY = "decided_by"
    CREATED = "created"
    USES = "uses"
    REPLACES = "replaces"
    CONTRADICTS = "contradicts"
    CONCERNS = "concerns"


class EvidenceSource(StrEnum):
    """The source of an entity or a relationship."""

    OPERATOR = "operator"
    MEMORY = "memory"
    SERVICES = "services"
    EVENT = "event"
    INCIDENT = "incident"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node, current unless it was deleted or merged, or is no longer mentioned.

    `scope` global with the project EVERYWHERE is for entities that global memories name.
    """

    id: int
    project: str
    scope: Annotated[str, Field(options=(PROJECT, GLOBAL))]
    kind: EntityKind
    name: str
    source: EvidenceSource
    created_at: datetime
    updated_at: datetime
    properties: Mapping[str, str] = field(default_factory=dict)
    valid_to: datetime | None = None
    merged_into: int | None = None
    deleted_at: datetime | None = None
    version: int = 1

    @property
    def current(self) -> bool:
        """Whether the entity is part of the graph now."""
        return self.valid_to is None and self.merged_into is None and self.deleted_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """An edge between two entities, valid from `valid_from` until `valid_to`, or still valid.

    `named_source_id` and `named_target_id` are the entities that the evidence names, `source_id`
    and `target_id` those that they are merged into.
    """

    id: int
    project: str
    scope: Annotated[str, Field(options=(PROJECT, GLOBAL))]
    kind: RelationshipKind
    source_id: int
    target_id: int
    named_source_id: Annotated[int, Field(public=False)]
    named_target_id: Annotated[int, Field(public=False)]
    source: EvidenceSource
    confidence: float
    valid_from: datetime
    created_at: datetime
    updated_at: datetime
    properties: Mapping[str, str] = field(default_factory=dict)
    valid_to: datetime | None = None
    deleted_at: datetime | None = None
    version: int = 1


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity as named in a text."""

    name: str
    kind: EntityKind
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A relationship that a text states."""

    source: NamedEntity
    kind: RelationshipKind
    target: NamedEntity
    confidence: float = 0.7


@dataclass(frozen=True, slots=True)
class Extraction:
    """The statements of a text: entities, relationships, and other names of an entity."""

    entities: tuple[NamedEntity, ...] = ()
    claims: tuple[Claim, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()


def admit_name(name: str, where: str = "name") -> str:
    """Return the name of an entity, cleaned for storage, on one line; raises Invalid."""
    name = one_line(name)
    if not fold_name(name):
        raise Invalid(InvalidField(where, "must contain a letter or a digit"))
    if len(name) > MAX_NAME_CHARS:
        raise Invalid(InvalidField(where, f"must have at most {MAX_NAME_CHARS} characters"))
    return name


def admit_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties, validated for storage; raises Invalid."""
    if len(properties) > MAX_PROPERTIES:
        raise Invalid(InvalidField("properties", f"must be at most {MAX_PROPERTIES}"))
    for name, value in properties.items():
        if not name.strip() or len(name) > MAX_NAME_CHARS or len(value) > MAX_PROPERTY_CHARS:
            message = f"{name[:40]!r} must have a name and at most {MAX_PROPERTY_CHARS} characters"
            raise Invalid(InvalidField("properties", message))
    return dict(properties)
