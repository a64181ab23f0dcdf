"""Health of this installation, and its active configuration."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import FileProblemOut, Seq, public_shape
from lamplighter.domain.services.commands import EditPolicy
from lamplighter.domain.services.vitals import VitalSign, VitalStatus


@public_shape(VitalSign, figure=("at", str))
class HealthCheckOut(Struct):
    """One health check; `what_to_do` is empty if the state is ok."""


class HealthOut(Struct):
    """The health of Lamplighter itself: the worst of its checks, and each of them."""

    state: VitalStatus
    checks: list[HealthCheckOut]


class SettingOut(Struct):
    """A setting with its value, its source, and its value after a restart."""

    name: str
    variable: str
    value: str
    default: str
    source: str
    line: int | None
    about: str
    range: str
    group: str
    control: Literal["choice", "number", "duration", "text"]
    choices: list[str]
    secret: bool
    command: bool
    live: bool
    next: str | None


class FileOut(Struct):
    """A file or directory that may be of interest to an operator."""

    name: Literal["home", "settings", "services", "lexicon", "sessions"]
    path: str
    exists: bool
    says: str
    problems: list[FileProblemOut]


class AboutOut(Struct):
    """The running version."""

    version: str
    license: str
    python: str
    database: str
    database_at: str
    started_at: str


class EditStateOut(Struct):
    """The files that the app may edit, and the version of the settings file."""

    policy: EditPolicy
    etag: str
    obstacle: str


class SettingsOut(Struct):
    """The active settings; `refused` is the reason if a restart would fail now."""

    edit: EditStateOut

    settings: list[SettingOut]
    warnings: list[str]
    refused: list[str]
    files: list[FileOut]
    about: AboutOut


class SettingIn(Struct):
    """A setting and its new value."""

    name: Annotated[str, Meta(max_length=100)]
    value: Annotated[str, Meta(max_length=4000)]


class SettingLine(Struct):
    """The line for `lamplighter.toml`."""

    line: str


class ChangesQuery(Struct):
    """The sequence number to start after, and the maximum number."""

    after: Seq = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


Entity = Literal[
    "memory",
    "event",
    "session",
    "marker",
    "request",
    "supervisor",
    "cooldown",
    "escalation",
    "incident",
    "review",
    "page_review",
    "notebook",
    "approval",
    "halt",
    "alert",
    "notice",
    "trash",
    "entity",
    "relationship",
    "organizer_run",
    "token",
    "login",
]


class ChangeOut(Struct):
    """One change of the feed."""

    seq: int
    entity: Entity
    id: int
    op: Literal["created", "updated", "deleted", "batch"]
    version: int
    row: dict[str, Any] | None
    at: str


class ChangesPage(Struct):
    """Changes, oldest first; or `reset` if some after `after` are no longer stored."""

    seq: int
    items: list[ChangeOut] | UnsetType = UNSET
    next: int | UnsetType = UNSET
    reset: bool | UnsetType = UNSET


class StreamQuery(Struct):
    """The sequence number to start after."""

    after: Seq | None = None
    ping: Annotated[int, Meta(ge=1, le=60)] | None = None


class SupervisorOut(Struct):
    """The status of the supervisor; `waiting` counts sessions that wait for approval.

    `database` is the reason if the file was deleted, replaced or damaged and writes fail.
    """

    state: Literal["running", "idle", "away"]
    pid: int | None
    heartbeat_at: str | None
    next_round_at: str | None
    session_id: int | None
    waiting: int
    interval_seconds: float | None
    engine: str | None
    dry_run: bool
    revision: int
    version: str
    database: str
    seq: int


class ReadinessOut(Struct):
    """Whether this process responds and is ready."""

    status: str
    detail: str | msgspec.UnsetType = UNSET
