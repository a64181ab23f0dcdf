"""How this installation is: its health, and the settings in force."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lamplighter.domain.vitals import Condition


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
