"""The requests and responses of this API."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from lamplighter.domain.text import PROJECT_CHARS

Title = Annotated[str, Meta(max_length=500)]
Content = Annotated[str, Meta(max_length=50_000)]
Project = Annotated[str, Meta(max_length=PROJECT_CHARS)]
Word = Annotated[str, Meta(max_length=50)]
Key = Annotated[str, Meta(max_length=200)]
Tag = Annotated[str, Meta(max_length=100)]
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Tags = Annotated[list[Tag], Meta(max_length=20)]
SessionId = Annotated[str, Meta(max_length=200)]


class AgentOpsSessionIn(Struct):
    """A session that begins."""

    id: SessionId | None = None
    project: Project | None = None
    directory: str | None = None


class MessageIn(Struct):
    """One message of a transcript; other fields are ignored."""

    role: str = ""
    content: Any = ""


class EndIn(Struct):
    """The end of a session: its transcript (AgentOps), or its summary (engram)."""

    messages: list[MessageIn] | None = None
    summary: str | None = None


class ObservationIn(Struct):
    """An observation to store."""

    session_id: SessionId | None = None
    type: Word | None = None
    title: Title | None = None
    content: Content | None = None
    project: Project | None = None
    tags: Tags | None = None
    scope: Word | None = None
    topic_key: Key | None = None
    tool_name: str | None = None


class ObservationEdit(Struct):
    """Changes to an observation."""

    type: Word | None = None
    title: Title | None = None
    content: Content | None = None
    tags: Tags | None = None
    scope: Word | None = None
    topic_key: Key | None = None
    project: Project | None = None


class PassiveIn(Struct):
    """A report that may list learnings."""

    session_id: SessionId | None = None
    content: str | None = None
    project: Project | None = None
    source: str | None = None


class PromptIn(Struct):
    """A user prompt."""

    session_id: SessionId | None = None
    content: str | None = None
    project: Project | None = None


class TopicIn(Struct):
    """The input for a suggested topic key."""

    type: str | None = None
    title: str | None = None
    content: str | None = None


class ImportIn(Struct):
    """An export of AgentOps' memory service, or of engram."""

    sessions: list[dict[str, Any]] | None = None
    observations: list[dict[str, Any]] | None = None
    prompts: list[dict[str, Any]] | None = None


class MigrateIn(Struct):
    """Two names of one project."""

    old_project: Project | None = None
    new_project: Project | None = None


class ListQuery(Struct):
    """Filters of a list."""

    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0
    sort: str = ""


class AgentOpsSearchQuery(Struct):
    """A search."""

    q: str = ""
    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0


class AgentOpsContextQuery(Struct):
    """The task that a client needs context for."""

    project: str = ""
    query: str = ""
    limit: int | None = None
    budget: int | None = None
    max_bytes: int | None = None
    session_id: str = ""


class TimelineQuery(Struct):
    """Around which observation, and how far."""

    observation_id: Number | None = None
    before: int | None = None
    after: int | None = None


class ProjectQuery(Struct):
    """The project; empty for all projects."""

    project: str = ""


class DeleteQuery(Struct):
    """Whether it is to be removed for good."""

    hard: bool = False


class DirectoryQuery(Struct):
    """In which directory a client works."""

    cwd: str = ""


class AgentOpsSession(Struct):
    """A client's session."""

    id: str
    project: str
    directory: str
    started_at: str
    ended_at: str | None
    summary: str | None
    message_count: int
    observation_count: int
    status: str


class AgentOpsSessionEnd(Struct):
    """A session that has ended."""

    id: str
    session_id: str
    summary: str
    message_count: int
    status: str


class AgentOpsObservation(Struct):
    """An observation."""

    id: int
    session_id: str
    type: str
    title: str
    content: str
    tags: list[str]
    project: str
    scope: str
    topic_key: str | None
    normalized_hash: str
    revision_count: int
    duplicate_count: int
    last_seen_at: str
    created_at: str
    updated_at: str


class AgentOpsHit(AgentOpsObservation):
    """A search result; the lower its rank, the better it matches."""

    rank: float
    method: str


class AgentOpsSaved(Struct):
    """The result of saving an observation."""

    id: int
    action: str
    status: str
    revision_count: int
    duplicate_count: int


class AgentOpsDeleted(Struct):
    """The result of a deletion."""

    id: int
    status: str
    hard_delete: bool = False


class AgentOpsCaptured(Struct):
    """The result of storing the learnings of a report."""

    extracted: int
    saved: int
    duplicates: int


class AgentOpsContextSession(Struct):
    """A session in a response."""

    id: str
    project: str
    started_at: str
    summary: str


class AgentOpsContextObservation(Struct):
    """An observation in a response, with truncated content."""

    id: int
    type: str
    title: str
    content: str
    rank: float
    method: str


class AgentOpsContext(Struct):
    """The context of a client, as rows and as one text."""

    context: str
    recent_sessions: list[AgentOpsContextSession]
    recent_observations: list[AgentOpsContextObservation]


class AgentOpsTimelineEntry(AgentOpsObservation):
    """One observation of a timeline."""

    is_focus: bool


class AgentOpsTimeline(Struct):
    """An observation among its neighbours, oldest first."""

    focus: AgentOpsObservation
    before: list[AgentOpsTimelineEntry]
    after: list[AgentOpsTimelineEntry]
    session_info: AgentOpsSession | None
    total_in_range: int


class AgentOpsStats(Struct):
    """Counts of stored rows."""

    total_sessions: int
    total_observations: int
    total_prompts: int
    projects: list[str]


class AgentOpsPrompt(Struct):
    """A user prompt."""

    id: int
    session_id: str
    content: str
    project: str
    created_at: str


class AgentOpsPromptSaved(Struct):
    """A stored prompt."""

    id: int
    status: str


class AgentOpsTopic(Struct):
    """A topic key that would fit."""

    topic_key: str


class AgentOpsExport(Struct):
    """A complete export."""

    version: str
    exported_at: str
    sessions: list[dict[str, Any]]
    observations: list[dict[str, Any]]
    prompts: list[dict[str, Any]]


class AgentOpsImported(Struct):
    """The result of an import, with the names of both services; `errors` are rejected rows."""

    imported_sessions: int
    imported_observations: int
    sessions_imported: int
    observations_imported: int
    prompts_imported: int
    unchanged: int
    errors: list["AgentOpsFieldError"]


class AgentOpsMigrated(Struct):
    """The result of moving the rows of a project."""

    status: str
    reason: str = ""
    old_project: str = ""
    new_project: str = ""
    observations: int = 0
    sessions: int = 0
    prompts: int = 0
    superseded: int = 0


class AgentOpsHealth(Struct):
    """The state of the service; `partial` states that searches now omit the parts in `missing`."""

    status: str
    service: str
    version: str
    partial: bool
    missing: list[str]


class AgentOpsSync(Struct):
    """That nothing is sent elsewhere."""

    enabled: bool
    message: str


class AgentOpsProject(Struct):
    """The project of a directory."""

    project: str
    project_source: str
    project_path: str
    cwd: str
    available_projects: list[str]


class AgentOpsFieldError(Struct):
    """One field that is wrong."""

    field: str
    message: str


class AgentOpsFailure(Struct):
    """Why it was not done: in one line as they read it, and field by field."""

    error: str
    title: str
    status: int
    detail: str
    errors: list[AgentOpsFieldError]
