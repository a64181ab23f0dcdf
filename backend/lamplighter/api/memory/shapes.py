"""Memories: as they go out, and what may come in."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import Limit, Name, Words
from lamplighter.domain.memory.memory import OPERATIONS, Category, Kind
from lamplighter.domain.sessions.inclusion import MOST_BUDGET

Scope = Literal["project", "global"]
Tags = Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=20)]


class Memory(Struct):
    """One memory."""

    id: int
    service: str | None
    category: Category
    observation: str
    confidence: float
    active: bool
    created_at: str
    updated_at: str
    session_id: int | None
    tier: int
    kind: Kind
    trust: Literal["trusted", "observed", "unverified"]
    source: str
    source_ref: str | None
    title: str
    tags: list[str]
    project: str
    scope: Scope
    topic_key: str | None
    inactive_reason: str | None
    pinned: bool
    duplicate_count: int
    revision_count: int
    last_seen_at: str | None
    access_count: int
    accessed_at: str | None
    distilled: bool
    version: int
    as_of: str | UnsetType = UNSET


class AsOfQuery(Struct):
    """At which moment; left out: now."""

    as_of: Words | None = None


class MemoryPage(Struct):
    """Some memories, and how many there are in all."""

    items: list[Memory]
    next: str | None
    seq: int
    total: int
    as_of: str | UnsetType = UNSET


class ViewQuery(Struct):
    """Which memories are counted."""

    q: Words | None = None
    service: Name | None = None
    category: Category | None = None
    kind: Kind | None = None
    section: Literal["operational", "knowledge"] | None = None
    project: Name | None = None
    scope: Scope | None = None
    session: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None
    state: Literal["active", "inactive", "review", "all"] = "all"
    view: Literal["fading", "unused", "single", "edited"] | None = None


class FacetQuery(ViewQuery):
    """Which memories are counted; with `as_of` as they stood then."""

    as_of: Words | None = None


class MemoryQuery(FacetQuery):
    """Which memories, in which order; with `as_of` as they stood then."""

    sort: Literal["confidence", "updated", "created", "service", "category", "state", "source"] = (
        "confidence"
    )
    order: Literal["asc", "desc"] | None = None
    group: Literal["service"] | None = None
    ids: Annotated[list[Annotated[int, Meta(ge=1, le=2**63 - 1)]], Meta(max_length=200)] = []
    cursor: str | None = None
    limit: Limit = 50


class Facets(Struct):
    """How many memories there are by service, category, project and state."""

    services: list[dict[str, Any]]
    categories: list[dict[str, Any]]
    projects: list[dict[str, Any]]
    states: dict[str, int]
    seq: int
    as_of: str | UnsetType = UNSET


class Views(Struct):
    """How many memories each view has."""

    views: dict[str, int]
    seq: int


class MemoryIn(Struct):
    """A memory that an operator adds."""

    category: Category
    observation: str
    service: str | None = None
    confidence: float = 0.7
    title: str = ""
    tags: Tags = []
    project: Name = OPERATIONS
    scope: Scope = "project"
    topic_key: str | None = None


class MemoryEdit(Struct):
    """What an operator changes; what is left out stays."""

    observation: str | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    category: Category | UnsetType = UNSET
    service: str | UnsetType | None = UNSET
    active: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    title: str | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    project: Name | UnsetType = UNSET
    scope: Scope | UnsetType = UNSET
    topic_key: str | UnsetType | None = UNSET


class BulkFilter(ViewQuery, forbid_unknown_fields=True):
    """Which memories an act is on, as a list asks for them."""


class Bulk(Struct):
    """One act on several memories: those of `ids`, or all that a `filter` finds.

    A filter that asks for nothing finds every memory: it needs `all` beside it. With
    `preview` nothing is done: the answer says what would be.
    """

    action: Literal["delete", "confidence", "adjust", "deactivate", "activate"]
    ids: (
        Annotated[
            list[Annotated[int, Meta(ge=1, le=2**63 - 1)]], Meta(min_length=1, max_length=1000)
        ]
        | None
    ) = None
    filter: BulkFilter | None = None
    all: bool = False
    value: float | None = None
    preview: bool = False


class Example(Struct):
    """A memory as it is, and as an act would leave it; null: deleted."""

    before: Memory
    after: Memory | None


class Preview(Struct):
    """What an act would do to those it is on."""

    matched: int
    turn_inactive: int
    turn_active: int
    examples: list[Example]


class Changed(Struct):
    """How many memories an act changed, how many it had to leave, and which of those given.

    `act` is its number in the journal. With `preview`: how many it would; there is no act then.
    """

    changed: int
    left: int
    seq: int
    act: int | None
    ids: list[int] | UnsetType = UNSET
    preview: Preview | UnsetType = UNSET


class HistoryEntry(Struct):
    """One change of a memory; `act` is the operator's act that it was part of."""

    id: int
    version: int
    at: str
    actor: str
    session_id: int | None
    cause: str
    reason: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    review_id: int | None
    act: int | None
    undoable: bool


class HistoryPage(Struct):
    """The changes of a memory, newest first."""

    items: list[HistoryEntry]
    next: str | None
    seq: int


class GroundsQuery(Struct):
    """How many of each."""

    limit: Limit = 20


class Saying(Struct):
    """A time that a memory was said: by a session, or (null, tier 0) by a person."""

    session_id: int | None
    tier: int
    at: str
    cause: Literal["created", "learned", "reinforced"]
    before: float | None
    after: float | None


class Sayings(Struct):
    """How often a memory was said, by how many sessions, and the newest of it."""

    total: int
    sessions: int
    items: list[Saying]


class Telling(Struct):
    """A session that was told a memory, at which place among all that it was told."""

    session_id: int
    tier: int
    at: str
    position: int


class Tellings(Struct):
    """How many sessions were told a memory, and the newest of them."""

    total: int
    items: list[Telling]


class PartnerCase(Struct):
    """The last review of two memories that contradict each other."""

    id: int
    kind: Literal["conflict", "possible"]
    state: Literal["open", "resolved"]
    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss", "gone"] | None


class Partner(Struct):
    """A memory that contradicts another one as it is now; null is one that is gone."""

    memory_id: int
    memory: Memory | None
    review: PartnerCase | None


class Grounds(Struct):
    """Who said a memory, who was told it, and what contradicts it, the newest first."""

    said: Sayings
    told: Tellings
    partners: list[Partner]


class InclusionQuery(Struct):
    """Which prompt is asked about: the next one, unless something is to be otherwise."""

    services: Words | None = None
    budget: Annotated[int, Meta(ge=0, le=MOST_BUDGET)] | None = None
    without: Annotated[str, Meta(max_length=4000)] | None = None
    as_of: Words | None = None


class Way(Struct):
    """One way to include a memory: all that is in it is done together.

    Of the `categories` any serves, `topic_key` is taken away, `service` is what a session would
    be about.
    """

    words: str
    categories: list[str] | UnsetType = UNSET
    project: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    topic_key: UnsetType | None = UNSET
    active: bool | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    budget: int | UnsetType = UNSET
    service: str | UnsetType = UNSET


class Inclusion(Struct):
    """Whether a prompt includes a memory, why, and what would include it.

    `rank` counts from 0 in the order of choice among `total` (null: prompts do not choose it),
    `position` from 0 among the `lines` of the prompt.
    """

    id: int
    version: int
    included: bool
    reason: Literal[
        "included", "knowledge", "confidence", "inactive", "without", "off", "length", "budget"
    ]
    words: str
    rank: int | None
    position: int | None
    line: str
    tokens: int
    lines: int
    total: int
    budget: int
    ways: list[Way]
    seq: int
    as_of: str | UnsetType = UNSET


Said = Annotated[str, Meta(min_length=1)]


class RelateIn(Struct):
    """What is held and what is said now, both of one service and category.

    `id` is the caller's own mark; nothing is done with it.
    """

    old: Said
    new: Said
    service: Name | None = None
    category: Category | None = None
    id: int | str | None = None


class Related(Struct):
    """How the new observation relates to the old one, and why; unsure is reported as new.

    `p` is the share of labelled pairs with such a verdict that were judged rightly.
    """

    label: Literal["reinforce", "contradict", "new"]
    sure: bool
    p: Annotated[float, Meta(ge=0, le=1)]
    reason: str


class SimilarIn(Struct):
    """What somebody is typing; `without` is the memory whose text it is."""

    category: Category
    observation: str
    service: str | None = None
    without: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None


class Like(Related):
    """How what is typed stands to a memory that we hold."""

    memory: Memory


class Similar(Struct):
    """At most five memories: those that say the same, then those that do not agree."""

    items: list[Like]
