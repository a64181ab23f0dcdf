"""Edits of services in the app: one service of services.yaml is added, changed or removed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, NotFound, Stale, Unavailable
from lamplighter.domain.services.check import Check, PushCheck
from lamplighter.domain.services.commands import SERVICES, commands_in
from lamplighter.domain.services.service import NAME, normalize_service_name
from lamplighter.formats.editing.yaml_edit import edit_yaml, path_at, read_yaml
from lamplighter.usecases.configuration import changes
from lamplighter.usecases.configuration.context import ConfigurationContext, FileVersion, KeptEdit
from lamplighter.usecases.context import Context

MAX_PROBLEMS: Final = 20
"""The most problems to report, because each is located in the file."""

REPORTED = "Not run: a push check waits for the report of its job."
KEYS = (
    *("description", "group", "tags", "depends_on", "paused", "notify", "maintenance"),
    *("checks", "approve", "actions"),
)
"""The keys of a service in the order in which an edit adds them."""
MISTAKES = "services.yaml has mistakes. Correct them in a text editor first: {first}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEdit:
    """An edit of one service; `fields` None removes it.

    `programs` are the programs that checks may run afterwards; None leaves them.
    """

    name: str
    fields: Mapping[str, Any] | None
    new: bool = False
    programs: Sequence[str] | None = None

    @property
    def verb(self) -> str:
        """The type of the edit as a participle."""
        return "removed" if self.fields is None else "added" if self.new else "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPreview:
    """The preview of an edit: its diff, its problems, and the reason if it is not permitted."""

    diff: str
    problems: Sequence[InvalidField] = ()
    refusal: str = ""
    results: Sequence[Mapping[str, Any]] = field(default=())


def describe(files: ConfigurationContext, version: FileVersion) -> dict[str, Any]:
    """Return the file as JSON: its services with their fields."""
    text = version.text
    problems = files.services.problems(text)
    root = {} if problems else read_yaml(text) or {}
    services = root.get(SERVICES) or {}
    return {
        "path": files.services.path,
        "etag": version.etag,
        "policy": files.policy,
        "obstacle": version.obstacle,
        "problems": problems,
        "programs": root.get("commands") or [],
        "groups": list(root.get("groups") or {}),
        "services": [
            {"name": name, "fields": fields, "commands": bool(commands_in(fields))}
            for name, fields in services.items()
        ],
    }


async def read(files: ConfigurationContext) -> FileVersion:
    """Read the file."""
    return await asyncio.to_thread(files.services.read)


async def preview(
    here: Context, files: ConfigurationContext, edit: ServiceEdit, *, test: bool
) -> EditPreview:
    """Return the preview of an edit; with `test`, run the checks of the service once."""
    version = await read(files)
    try:
        after = await asyncio.to_thread(_edited, files, version, edit)
    except Invalid as error:
        return EditPreview(diff="", problems=error.wrong)
    refusal = await asyncio.to_thread(changes.refusal, files, files.services, version.text, after)
    problems = await asyncio.to_thread(_problems, files, edit, after)
    kept = KeptEdit(files.services.name, version.text, after)
    shown = await asyncio.to_thread(changes.difference, here, files, kept)
    results: Sequence[Mapping[str, Any]] = ()
    if test and not (problems or refusal):
        results = await _try_checks(files, edit, after)
    return EditPreview(diff=shown, problems=problems, refusal=refusal, results=results)


async def save(
    here: Context, files: ConfigurationContext, edit: ServiceEdit, *, etag: str, by: str
) -> FileVersion:
    """Write an edit of the version with this ETag.

    Raises Stale, Invalid with every wrong field, Conflict if the policy or the file does not permit
    the edit, NotFound and Unavailable.
    """
    version = await read(files)
    if etag != version.etag:
        raise Stale(version)
    after = await asyncio.to_thread(_edited, files, version, edit)
    if why := await asyncio.to_thread(changes.refusal, files, files.services, version.text, after):
        raise Conflict(why)
    if problems := await asyncio.to_thread(_problems, files, edit, after):
        raise Invalid(*problems)
    if after != version.text:
        subject = f"services.yaml: {edit.name} was {edit.verb}"
        await changes.write(here, files, files.services, version, after, subject=subject, by=by)
    return await read(files)


def _edited(files: ConfigurationContext, version: FileVersion, edit: ServiceEdit) -> str:
    """Return the text of the file with an edit."""
    if version.obstacle:
        raise Unavailable(version.obstacle)
    if found := files.services.problems(version.text):
        first = f"line {found[0]['line']}: {found[0]['message']}"
        raise Conflict(MISTAKES.format(first=first))
    root: dict[str, Any] = read_yaml(version.text) or {}
    services: dict[str, Any] = dict(root.get(SERVICES) or {})
    folded = {normalize_service_name(name): name for name in services}
    existing = folded.get(normalize_service_name(edit.name))
    if edit.new:
        _refuse_name(edit.name, existing)
    elif existing is None:
        raise NotFound(f"Service {edit.name!r} is not in {files.services.path}.")
    if edit.fields is None:
        del services[existing or edit.name]
    else:
        fields = _file_value(edit.fields)
        order = {key: place for place, key in enumerate(KEYS)}
        keys = sorted(fields, key=lambda key: order.get(key, len(KEYS)))
        services[existing or edit.name] = {key: fields[key] for key in keys}
    wanted = {**root, SERVICES: services}
    if edit.programs is not None:
        wanted["commands"] = list(edit.programs)
        if not edit.programs:
            del wanted["commands"]
    return edit_yaml(version.text, wanted)


def _file_value(value: Any) -> Any:
    """Return a value without nulls, and fractions as text, because the file has no fractions."""
    if isinstance(value, Mapping):
        return {str(key): _file_value(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_file_value(each) for each in value]
    return str(value) if isinstance(value, float) else value


def _refuse_name(name: str, known: str | None) -> None:
    if not NAME.fullmatch(name):
        message = "a name has 1 to 64 characters: letters, digits, _ or -"
        raise Invalid(InvalidField("name", message))
    if known is not None:
        raise Invalid(InvalidField("name", f"{known} exists already"))


def _problems(files: ConfigurationContext, edit: ServiceEdit, after: str) -> list[InvalidField]:
    """Return the problems that a reader would report, each with its field of the service."""
    return [
        InvalidField(_field(after, edit.name, each), str(each["message"]))
        for each in files.services.problems(after)[:MAX_PROBLEMS]
    ]


def _field(text: str, name: str, problem: Mapping[str, Any]) -> str:
    path = path_at(text, int(problem["line"]), int(problem["column"]))
    own = normalize_service_name(str(path[1])) if len(path) > 1 else ""
    if path[:1] == (SERVICES,) and own == normalize_service_name(name):
        return ".".join(map(str, path[2:])) or "name"
    return ".".join(map(str, path)) or "file"


async def _try_checks(
    files: ConfigurationContext, edit: ServiceEdit, after: str
) -> list[dict[str, Any]]:
    service = (await asyncio.to_thread(files.services.parse, after)).find(edit.name)
    checks: list[Check] = [] if service is None else list(service.checks)
    run = [each for each in checks if not isinstance(each, PushCheck)]
    found = {each["name"]: each for each in await files.run_checks(run)} if run else {}
    return [found.get(each.name) or _not_run(each) for each in checks]


def _not_run(check: Check) -> dict[str, Any]:
    return {"name": check.name, "kind": check.kind, "ok": None, "detail": REPORTED}
