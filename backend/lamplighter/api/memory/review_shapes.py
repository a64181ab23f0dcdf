"""Reviews: two claims, and a person's decision on them."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, ListPage, Name, PageQuery, Seq, public_shape
from lamplighter.api.memory.shapes import HistoryEntry, MemoryOut
from lamplighter.domain.memory.memory import MAX_OBSERVATION_CHARS, Category
from lamplighter.formats.audit import AuditLink, AuditOccurrence, AuditReview
from lamplighter.usecases.sessions.prompt_effects import AuditEffect

Scope = Annotated[str, Meta(max_length=500)]
Text = Annotated[str, Meta(max_length=MAX_OBSERVATION_CHARS)]


class ReviewOut(Struct):
    """One review with both memories in their present state; null if one no longer exists."""

    id: int
    kind: Literal["conflict", "possible", "fact", "verification", "file", "relationship"]
    state: Literal["open", "resolved"]
    reason: str
    said: str
    service: str | None
    category: Category
    session_id: int | None
    old: MemoryOut | None
    new: MemoryOut | None
    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss", "gone"] | None
    resolved_by: str | None
    resolved_at: str | None
    created_at: str
    version: int


class ReviewChangeOut(HistoryEntry):
    """One change of a memory that a resolution made."""

    memory_id: int


class SourceOut(Struct):
    """One report of a claim: by a session, or (null) by a person."""

    session_id: int | None
    at: str
    cause: Literal["created", "learned", "reinforced"]


class ReviewCaseOut(ReviewOut):
    """One review with the sources and prompts of each claim, and the changes of its resolution."""

    sources: dict[Literal["old", "new"], list[SourceOut]]
    exposed: dict[Literal["old", "new"], list[int]]
    exposed_counts: dict[Literal["old", "new"], int]
    changes: list[ReviewChangeOut]


class ReviewPage(ListPage):
    """A page of reviews, their total number, and the pages of the notebook that need a review."""

    items: list[ReviewOut]
    total: int
    pages: int


class ReviewQuery(PageQuery):
    """Filters for reviews; open ones are sorted oldest first, all others newest first."""

    state: Literal["open", "resolved", "all"] = "open"
    service: Name | None = None
    kind: Literal["conflict", "possible", "fact", "verification", "file", "relationship"] | None = (
        None
    )
    session: Seq | None = None


class ResolutionIn(Struct):
    """A resolution; `both` needs a scope, `merge` the merged text.

    `keep_new` may replace the text of the new memory. In a failed verification `keep_old` keeps
    the memory; `keep_new` corrects it, or sets it aside. `keep_new` confirms a relationship that a
    model found, `keep_old` rejects it.
    """

    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss"]
    old_scope: Scope = ""
    new_scope: Scope = ""
    observation: Text = ""


@public_shape(AuditOccurrence)
class MentionOut(Struct):
    """A session that confirmed or contradicted a memory or had it in its prompt; null: a person."""


class TallyOut(Struct):
    """The number of times, and the last 20 sessions, newest first."""

    count: int
    sessions: list[MentionOut]


@public_shape(AuditLink, what=("direction", Literal["to", "from"]))
class LinkOut(Struct):
    """A link to or from another memory; `observation` is null if that memory was deleted."""


class LinksOut(Struct):
    """The last 20 links of a memory, newest first."""

    count: int
    items: list[LinkOut]


@public_shape(AuditReview)
class OpenReviewOut(Struct):
    """An open review, and the other memory in it."""


class OpenReviewsOut(Struct):
    """The open reviews of a memory, newest first."""

    count: int
    items: list[OpenReviewOut]


class AuditClaimOut(Struct):
    """A claim of a text, the statement of the source about it, and the evidence."""

    claim: str
    state: Literal["confirmed", "refuted", "unknown"]
    source: str
    detail: str


class AuditOutcomeOut(Struct):
    """The last verification of a memory; `untested` are the parts of its text without evidence."""

    state: Literal["passed", "failed", "partial", "untested"]
    checked_at: str | None
    evidence: list[AuditClaimOut]
    untested: list[str]


@public_shape(AuditEffect)
class AuditEffectOut(Struct):
    """The place of a memory in the prompt of the next round, and the lines that would replace it.

    `position` counts from 0; null: it is not included, and the prompt without it is the same.
    """


class BeliefOut(Struct):
    """One memory with its evidence.

    `verification` is null if it was never tested. `inactive_from` is when its confidence falls
    below 0.30 unless confirmed; null: never. `prompt` is null unless requested.
    """

    memory: MemoryOut
    confirmed: TallyOut
    contradicted: TallyOut
    told: TallyOut
    links: LinksOut
    reviews: OpenReviewsOut
    verification: AuditOutcomeOut | None
    inactive_from: str | None
    prompt: AuditEffectOut | None


class AuditPage(Struct):
    """All memories about a topic, active first; `service` if the topic is a service."""

    topic: str
    service: str | None
    states: dict[str, int]
    items: list[BeliefOut]
    next: str | None
    seq: int


class AuditQuery(Struct):
    """The service or word; with `prompt`, also the next prompt without each memory."""

    topic: Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]
    prompt: bool = False
    cursor: str | None = None
    limit: Limit = 50
