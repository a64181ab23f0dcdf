"""The responses of this API."""

from typing import Any

from msgspec import Struct


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
