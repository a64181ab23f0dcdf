"""What is asked by this contract; what is not named is passed over, as theirs does."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from lamplighter.domain.agent import PROJECT_CHARS

Title = Annotated[str, Meta(max_length=500)]
Content = Annotated[str, Meta(max_length=50_000)]
Project = Annotated[str, Meta(max_length=PROJECT_CHARS)]
Word = Annotated[str, Meta(max_length=50)]
Key = Annotated[str, Meta(max_length=200)]
Tag = Annotated[str, Meta(max_length=100)]
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Tags = Annotated[list[Tag], Meta(max_length=20)]
SessionId = Annotated[str, Meta(max_length=200)]


class SessionIn(Struct):
    """A session that begins."""

    id: SessionId | None = None
    project: Project | None = None
    directory: str | None = None


class MessageIn(Struct):
    """One message of a transcript; more than its words is passed over."""

    role: str = ""
    content: Any = ""


class EndIn(Struct):
    """The end of a session: its transcript (AgentOps), or its summary (engram)."""

    messages: list[MessageIn] | None = None
    summary: str | None = None


class ObservationIn(Struct):
    """An observation to keep."""

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
    """What is to be otherwise of an observation."""

    type: Word | None = None
    title: Title | None = None
    content: Content | None = None
    tags: Tags | None = None
    scope: Word | None = None
    topic_key: Key | None = None
    project: Project | None = None


class PassiveIn(Struct):
    """A report that may list what was learned."""

    session_id: SessionId | None = None
    content: str | None = None
    project: Project | None = None
    source: str | None = None


class PromptIn(Struct):
    """What a user asked."""

    session_id: SessionId | None = None
    content: str | None = None
    project: Project | None = None


class TopicIn(Struct):
    """What a topic key is wanted for."""

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
    """Which rows are asked for."""

    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0
    sort: str = ""


class SearchQuery(Struct):
    """What is looked for."""

    q: str = ""
    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0


class ContextQuery(Struct):
    """What a client is about to do."""

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
    """Of which project; none asks for all."""

    project: str = ""


class DeleteQuery(Struct):
    """Whether it is to be removed for good."""

    hard: bool = False


class PlaceQuery(Struct):
    """In which directory a client works."""

    cwd: str = ""
