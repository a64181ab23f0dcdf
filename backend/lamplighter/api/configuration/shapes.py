"""The configuration as the app edits it: services, settings, previews and past changes."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import FileProblemOut, Name, Seq
from lamplighter.domain.services.commands import EditPolicy


class DeclaredServiceOut(Struct):
    """A service with its fields as the file has them; `commands` if it declares any."""

    name: str
    fields: dict[str, Any]
    commands: bool


class ServicesFileOut(Struct):
    """services.yaml; `obstacle` is the reason if the file cannot be written."""

    path: str
    etag: str
    policy: EditPolicy
    obstacle: str
    problems: list[FileProblemOut]
    programs: list[Any]
    groups: list[str]
    services: list[DeclaredServiceOut]


class ServiceFieldsIn(Struct):
    """A service; `new` adds it, and `programs` are the programs that its checks may run."""

    fields: dict[str, Any]
    new: bool = False
    programs: list[Annotated[str, Meta(max_length=4000)]] | None = None


class ServicePreviewIn(Struct):
    """An edit of a service; null `fields` removes it, and `test` runs its checks once."""

    name: Name
    fields: dict[str, Any] | None
    new: bool = False
    programs: list[Annotated[str, Meta(max_length=4000)]] | None = None
    test: bool = False


class TrialOut(Struct):
    """The result of a check that was run once; `ok` is null if the check was not run."""

    name: str
    kind: str
    ok: bool | None
    detail: str
    warned: bool = False
    latency_ms: float | None = None


class FieldProblemOut(Struct):
    """A wrong field of an edit."""

    field: str
    message: str


class EditPreviewOut(Struct):
    """The effect of an edit: its diff, its mistakes, and the reason if it is not permitted."""

    diff: str
    problems: list[FieldProblemOut]
    refusal: str
    results: list[TrialOut]


class SettingValuesIn(Struct):
    """New values of settings by name; null is the default."""

    values: dict[Name, Annotated[str, Meta(max_length=4000)] | None]


class SettingsFileOut(Struct):
    """The settings file after an edit."""

    path: str
    etag: str


class ConfigurationChangeOut(Struct):
    """An edit made in the app, with its diff; the diff is empty after its retention ends."""

    act: int
    subject: str
    actor: str
    file: Literal["services", "settings", ""]
    diff: str
    created_at: str
    undone_by: int | None


class ConfigurationChangesPage(Struct):
    """A page of edits, newest first."""

    items: list[ConfigurationChangeOut]
    next: str | None
    seq: Seq | UnsetType = UNSET
