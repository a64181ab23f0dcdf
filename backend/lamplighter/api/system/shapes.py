"""How this installation is: its health, and the settings in force."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import Seq
from lamplighter.domain.services.vitals import Condition


class SignOut(Struct):
    """One thing that was looked at; `what_to_do` is empty where it is well."""

    name: str
    state: Condition
    words: str
    what_to_do: str
    figure: float | None
    at: str


class Vitals(Struct):
    """Whether Lamplighter itself is well: the worst of its checks, and each of them."""

    state: Condition
    checks: list[SignOut]


class Setting(Struct):
    """A setting: its value, where that comes from, and what the next start would read."""

    name: str
    variable: str
    value: str
    default: str
    source: str
    line: int | None
    about: str
    range: str
    next: str | None


class FileOut(Struct):
    """A file or directory that a person may look into."""

    name: Literal["home", "settings", "services", "lexicon", "sessions"]
    path: str
    exists: bool
    says: str
    problems: list[dict[str, Any]]


class About(Struct):
    """What runs here."""

    version: str
    license: str
    python: str
    database: str
    database_at: str
    started_at: str


class SettingsOut(Struct):
    """What is in force; `refused` says why a start would fail now."""

    settings: list[Setting]
    warnings: list[str]
    refused: list[str]
    files: list[FileOut]
    about: About


class SettingIn(Struct):
    """A setting and the value it is wanted to have."""

    name: Annotated[str, Meta(max_length=100)]
    value: Annotated[str, Meta(max_length=4000)]


class SettingLine(Struct):
    """The line of `lamplighter.toml` that says so."""

    line: str


class ChangesQuery(Struct):
    """After which number, and how many."""

    after: Seq = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class Change(Struct):
    """One change of the feed."""

    seq: int
    entity: str
    id: int
    op: Literal["created", "updated", "deleted", "batch"]
    version: int
    row: dict[str, Any] | None
    at: str


class ChangesPage(Struct):
    """Changes, oldest first; or `reset` when those after `after` are no longer all kept."""

    seq: int
    items: list[Change] | UnsetType = UNSET
    next: int | UnsetType = UNSET
    reset: bool | UnsetType = UNSET


class StreamQuery(Struct):
    """After which number the feed goes on."""

    after: Seq | None = None
    ping: Annotated[int, Meta(ge=1, le=60)] | None = None


class Supervisor(Struct):
    """What the supervisor does now; `waiting` is how many sessions wait for approval beside it.

    `database` says why nothing can be saved now, where the file was deleted, replaced or damaged.
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


class Health(Struct):
    """Whether this process lives and can work."""

    status: str
    detail: str | msgspec.UnsetType = UNSET
