"""What is answered by this contract."""

from typing import Any

from msgspec import Struct


class Session(Struct):
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


class Ended(Struct):
    """A session that has ended."""

    id: str
    session_id: str
    summary: str
    message_count: int
    status: str


class Observation(Struct):
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


class Hit(Observation):
    """An observation that was found; the lower its rank, the better it fits."""

    rank: float
    method: str


class Saved(Struct):
    """What became of an observation."""

    id: int
    action: str
    status: str
    revision_count: int
    duplicate_count: int


class Deleted(Struct):
    """What was deleted."""

    id: int
    status: str
    hard_delete: bool = False


class Captured(Struct):
    """What became of the learnings of a report."""

    extracted: int
    saved: int
    duplicates: int


class ToldSession(Struct):
    """A session as a client is told of it."""

    id: str
    project: str
    started_at: str
    summary: str


class ToldObservation(Struct):
    """An observation as a client is told of it, its content cut."""

    id: int
    type: str
    title: str
    content: str
    rank: float
    method: str


class Context(Struct):
    """What a client is told, as rows and as one text."""

    context: str
    recent_sessions: list[ToldSession]
    recent_observations: list[ToldObservation]


class Entry(Observation):
    """One observation of a timeline."""

    is_focus: bool


class Timeline(Struct):
    """An observation among its neighbours, oldest first."""

    focus: Observation
    before: list[Entry]
    after: list[Entry]
    session_info: Session | None
    total_in_range: int


class Stats(Struct):
    """How much there is."""

    total_sessions: int
    total_observations: int
    total_prompts: int
    projects: list[str]


class Prompt(Struct):
    """What a user asked."""

    id: int
    session_id: str
    content: str
    project: str
    created_at: str


class PromptSaved(Struct):
    """A prompt that was kept."""

    id: int
    status: str


class Topic(Struct):
    """A topic key that would fit."""

    topic_key: str


class Export(Struct):
    """All that is known."""

    version: str
    exported_at: str
    sessions: list[dict[str, Any]]
    observations: list[dict[str, Any]]
    prompts: list[dict[str, Any]]


class Imported(Struct):
    """What was taken in, in the words of both; `errors` are the rows that were not."""

    imported_sessions: int
    imported_observations: int
    sessions_imported: int
    observations_imported: int
    prompts_imported: int
    unchanged: int
    errors: list["FieldError"]


class Migrated(Struct):
    """What became of a project's rows."""

    status: str
    reason: str = ""
    old_project: str = ""
    new_project: str = ""
    observations: int = 0
    sessions: int = 0
    prompts: int = 0
    superseded: int = 0


class Health(Struct):
    """That it lives; `partial` says that a search now leaves out what is in `missing`."""

    status: str
    service: str
    version: str
    partial: bool
    missing: list[str]


class Sync(Struct):
    """That nothing is sent elsewhere."""

    enabled: bool
    message: str


class Place(Struct):
    """The project of a directory."""

    project: str
    project_source: str
    project_path: str
    cwd: str
    available_projects: list[str]


class FieldError(Struct):
    """One field that is wrong."""

    field: str
    message: str


class Failure(Struct):
    """Why it was not done: in one line as they read it, and field by field."""

    error: str
    title: str
    status: int
    detail: str
    errors: list[FieldError]
