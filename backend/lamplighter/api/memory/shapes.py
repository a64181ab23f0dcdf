"""Shapes of memories in requests and responses."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import (
    Limit,
    ListPage,
    Name,
    RowId,
    ShortText,
    history_shape,
    page_of,
    public_shape,
)
from lamplighter.domain.memory.memory import OPERATIONS, Category, Memory, MemoryKind
from lamplighter.domain.sessions.inclusion import MOST_BUDGET
from lamplighter.repository.memory.evidence import MemoryInclusion, MemoryReport

Scope = Literal["project", "global"]
Tags = Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=20)]


@public_shape(Memory, version=("as_of", str | UnsetType, UNSET))
class MemoryOut(Struct):
    """One memory."""


@history_shape(Memory, always=("observation", "confidence", "active"))
class MemoryStateOut(Struct):
    """A memory before or after a change; old entries have three fields only."""


class AsOfQuery(Struct):
    """The moment; default: now."""

    as_of: ShortText | None = None


class MemoryPage(ListPage):
    """A page of memories, and their total number."""

    items: list[MemoryOut]
    total: int
    as_of: str | UnsetType = UNSET


class ViewQuery(Struct):
    """Filters for the counted memories."""

    q: ShortText | None = None
    service: Name | None = None
    category: Category | None = None
    kind: MemoryKind | None = None
    section: Literal["operational", "knowledge"] | None = None
    project: Name | None = None
    scope: Scope | None = None
    session: RowId | None = None
    state: Literal["active", "inactive", "review", "all"] = "all"
    view: Literal["fading", "unused", "single", "edited"] | None = None


class FacetQuery(ViewQuery):
    """Filters for the counted memories; `as_of` selects an earlier state."""

    as_of: ShortText | None = None


class MemoryQuery(FacetQuery):
    """Filters and order of memories; `as_of` selects an earlier state."""

    sort: Literal["confidence", "updated", "created", "service", "category", "state", "source"] = (
        "confidence"
    )
    order: Literal["asc", "desc"] | None = None
    group: Literal["service"] | None = None
    ids: Annotated[list[RowId], Meta(max_length=200)] = []
    cursor: str | None = None
    limit: Limit = 50


class ServiceCount(Struct):
    """The number of memories of a service."""

    service: str | None
    count: int


class CategoryCount(Struct):
    """The number of memories of a category."""

    category: Category
    count: int


class ProjectCount(Struct):
    """The number of memories of a project."""

    project: str
    count: int


class StateCounts(Struct):
    """The number of memories by state; `review` is unknown for an earlier moment."""

    active: int
    inactive: int
    review: int | UnsetType = UNSET


class Facets(Struct):
    """The number of memories by service, category, project and state."""

    services: list[ServiceCount]
    categories: list[CategoryCount]
    projects: list[ProjectCount]
    states: StateCounts
    seq: int
    as_of: str | UnsetType = UNSET


class Views(Struct):
    """The number of memories in each view."""

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
    metadata: dict[str, Any] = {}
    expires_at: ShortText | None = None


class MemoryEdit(Struct):
    """The changes of an operator; omitted fields stay unchanged."""

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
    metadata: dict[str, Any] | UnsetType = UNSET
    expires_at: ShortText | UnsetType | None = UNSET


class BulkFilter(ViewQuery, forbid_unknown_fields=True):
    """Filters for the memories of a bulk change, as in a list."""


class BulkIn(Struct):
    """A change of several memories: those in `ids`, or all that match a `filter`.

    An empty filter matches every memory and needs `all`. With `preview` nothing is changed; the
    response describes the effect.
    """

    action: Literal["delete", "confidence", "adjust", "deactivate", "activate", "confirm"]
    ids: Annotated[list[RowId], Meta(min_length=1, max_length=1000)] | None = None
    filter: BulkFilter | None = None
    all: bool = False
    value: float | None = None
    preview: bool = False


class BulkExampleOut(Struct):
    """A memory before and after the change; null: deleted."""

    before: MemoryOut
    after: MemoryOut | None


class BulkPreviewOut(Struct):
    """The effect of a bulk change."""

    matched: int
    turn_inactive: int
    turn_active: int
    examples: list[BulkExampleOut]


class BulkResultOut(Struct):
    """The number of changed and skipped memories, and which of the given ids matched.

    `act` is the id in the journal. With `preview` there is no act, and the numbers are expected.
    """

    changed: int
    left: int
    seq: int
    act: int | None
    ids: list[int] | UnsetType = UNSET
    preview: BulkPreviewOut | UnsetType = UNSET


class HistoryEntry(Struct):
    """One change of a memory; `act` is the operator act that it belongs to."""

    id: int
    version: int
    at: str
    actor: str
    session_id: int | None
    cause: str
    reason: str
    before: MemoryStateOut | None
    after: MemoryStateOut | None
    review_id: int | None
    act: int | None
    undoable: bool


HistoryPage = page_of(HistoryEntry, "The changes of a memory, newest first.", name="HistoryPage")


class EvidenceQuery(Struct):
    """The maximum length of each list."""

    limit: Limit = 20


@public_shape(
    MemoryReport,
    without=["cause"],
    at=("cause", Literal["created", "learned", "reinforced"]),
)
class ReportOut(Struct):
    """One report of a memory: by a session, or (null, tier 0) by a person."""


class ReportsOut(Struct):
    """The number of reports of a memory and of sessions, and the newest reports."""

    total: int
    sessions: int
    items: list[ReportOut]


@public_shape(MemoryInclusion)
class ExposureOut(Struct):
    """A session with the memory in its prompt, and the position there."""


class ExposuresOut(Struct):
    """The number of sessions with the memory in their prompt, and the newest of them."""

    total: int
    items: list[ExposureOut]


class PartnerReviewOut(Struct):
    """The last review of two conflicting memories."""

    id: int
    kind: Literal["conflict", "possible", "fact"]
    state: Literal["open", "resolved"]
    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss", "gone"] | None


class PartnerOut(Struct):
    """A conflicting memory in its present state; null if it no longer exists."""

    memory_id: int
    memory: MemoryOut | None
    review: PartnerReviewOut | None


class IncidentShareOut(Struct):
    """How many incidents a service had, and how many of them an action repaired."""

    incidents: int
    repaired: int


class MemoryOutcomesOut(Struct):
    """The counts behind a memory that was learned from outcomes of incidents.

    `interval` is the 90 % interval of the share; `edited` states that a person changed the memory.
    """

    worked: int
    tried: int
    interval: list[float]
    edited: bool
    in_prompt: IncidentShareOut
    not_in_prompt: IncidentShareOut


class EvidenceOut(Struct):
    """The evidence for a memory: its sources, prompts and conflicts, newest first.

    `page` is the page of the notebook that contains it.
    """

    said: ReportsOut
    told: ExposuresOut
    partners: list[PartnerOut]
    outcomes: MemoryOutcomesOut | None
    page: str | None


class InclusionQuery(Struct):
    """Changes to the next prompt for this question; default: none."""

    services: ShortText | None = None
    budget: Annotated[int, Meta(ge=0, le=MOST_BUDGET)] | None = None
    exclude: Annotated[str, Meta(max_length=4000)] | None = None
    as_of: ShortText | None = None


class InclusionWayOut(Struct):
    """One way to include a memory: all of its fields apply together.

    Any of the `categories` works, `topic_key` is removed, `service` is the service of a session.
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


class InclusionOut(Struct):
    """Whether a prompt includes a memory, why, and what would include it.

    `rank` counts from 0 by priority among `total` (null: not a candidate), `position` from 0
    among the `lines` of the prompt.
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
    ways: list[InclusionWayOut]
    seq: int
    as_of: str | UnsetType = UNSET


NonEmptyText = Annotated[str, Meta(min_length=1)]


class RelateIn(Struct):
    """An existing and a new observation of one service and category.

    `id` is a label of the caller and has no effect.
    """

    old: NonEmptyText
    new: NonEmptyText
    service: Name | None = None
    category: Category | None = None
    id: int | str | None = None


class RelationOut(Struct):
    """How the new observation relates to the old one, and why; unsure is reported as new.

    `p` is the share of labeled pairs with this kind of result that were labeled correctly.
    """

    label: Literal["reinforce", "contradict", "new"]
    sure: bool
    p: Annotated[float, Meta(ge=0, le=1)]
    reason: str


class SimilarIn(Struct):
    """A text that a person is typing; `without` is the memory being edited."""

    category: Category
    observation: str
    service: str | None = None
    without: RowId | None = None


class SimilarMemoryOut(RelationOut):
    """How the text relates to an existing memory."""

    memory: MemoryOut


class SimilarOut(Struct):
    """At most five memories: duplicates first, then contradictions."""

    items: list[SimilarMemoryOut]
