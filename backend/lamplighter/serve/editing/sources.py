"""services.yaml and the settings file as the app edits them, and a trial run of checks."""

import asyncio
import threading
import time
import tomllib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any, Final

from lamplighter.config import active
from lamplighter.config import services as services_file
from lamplighter.config.catalog import SETTINGS
from lamplighter.config.readers import MASK
from lamplighter.config.settings import FILE, Settings, read_settings
from lamplighter.config.sheet import FILE_BYTES, ServicesError, YamlSheet
from lamplighter.domain.errors import Busy, Invalid
from lamplighter.domain.secrets.names import secret_kind
from lamplighter.domain.services.check import Check
from lamplighter.domain.services.commands import EditPolicy
from lamplighter.domain.services.service import Services
from lamplighter.serve.editing.file import DIRECTORY, EditFiles, ReplacedFile
from lamplighter.supervisor.checks.process import CheckProcess, CheckProcessEnded
from lamplighter.usecases.configuration.context import ConfigurationContext, FileProblems

OWN: Final = "{}: only a person who edits {} can change what the app may edit."
COMMANDS: Final = (
    "{}: the setting names commands, files or hosts, or what runs, and LAMPLIGHTER_EDIT=checks "
    "does not permit the app to change it. Edit {} in a text editor, or set LAMPLIGHTER_EDIT=all."
)
NAMES: Final = frozenset(each.name for each in SETTINGS)
SECRETS: Final = frozenset(
    each.name for each in SETTINGS if each.secret or each.name == "database_url"
)
TRIED: Final = "The check could not be tried. Try again."
LATE: Final = "The check did not end in time. The schedule gives it more time."
BUSY: Final = "Other tests of checks are running. Try again in a moment."
MAX_TRIALS: Final = 2
TRIAL_SECONDS: Final = 20.0

_TRIALS: Final = threading.BoundedSemaphore(MAX_TRIALS)
_THREADS: Final = ThreadPoolExecutor(MAX_TRIALS, thread_name_prefix="trial")


class ServicesSource(ReplacedFile):
    """services.yaml."""

    name = "services"

    def problems(self, text: str) -> FileProblems:
        """Return the errors of a text, as a start would report them."""
        if len(text.encode()) > FILE_BYTES:
            place = {"path": self.path, "line": 0, "column": 0}
            return [{**place, "field": "services", "message": "the file is larger than 1 MiB"}]
        try:
            self.parse(text)
        except ServicesError as error:
            return [asdict(each) for each in error.problems]
        return []

    def parse(self, text: str) -> Services:
        """Return the services of a text; raises ServicesError."""
        return services_file.read(text, YamlSheet(self.path))


class SettingsSource(ReplacedFile):
    """The settings file of the home."""

    name = "settings"

    def problems(self, text: str) -> FileProblems:
        """Return the errors of a text, as a start would report them."""
        try:
            read_settings(file=text)
        except Invalid as error:
            place = {"path": self.path, "line": 0, "column": 0}
            return [{**place, "field": each.field, "message": each.message} for each in error.wrong]
        return []


def build_context(settings: Settings) -> ConfigurationContext:
    """Return the context for edits of this home's configuration."""
    lock = settings.home / DIRECTORY / "lock"
    return ConfigurationContext(
        policy=EditPolicy(settings.edit),
        services=ServicesSource(settings.services, lock),
        settings=SettingsSource(settings.home / FILE, lock),
        history=EditFiles(settings.home),
        run_checks=run_checks,
        format_setting=active.setting_line,
        protected=lambda before, after: protected(settings, before, after),
        masked=masked,
    )


def protected(settings: Settings, before: str, after: str) -> str:
    """Return why the app may not change a setting; empty if it may."""
    old, new = tomllib.loads(before), tomllib.loads(after)
    path = settings.home / FILE
    for each in SETTINGS:
        if old.get(each.name) == new.get(each.name):
            continue
        if each.name == "edit":
            return OWN.format(each.variable, path)
        if each.command and settings.edit != EditPolicy.ALL:
            return COMMANDS.format(each.variable, path)
    others = (old.keys() | new.keys()) - {each.name for each in SETTINGS}
    for name in sorted(others):
        if old.get(name) != new.get(name) and settings.edit != EditPolicy.ALL:
            return COMMANDS.format(name, path)
    return ""


def masked(before: str, after: str) -> tuple[str, str]:
    """Return two texts of the settings file without their secrets."""
    old, new = tomllib.loads(before), tomllib.loads(after)
    changed = {name for name in SECRETS if old.get(name) not in (None, new.get(name))}
    return _hide(before, frozenset()), _hide(after, changed)


def _hide(text: str, changed: AbstractSet[str]) -> str:
    """Return a text with a mask for each statement that holds a secret."""
    statements, statement = [], ""
    for line in text.splitlines(keepends=True):
        statement += line
        try:
            values = tomllib.loads(statement) or _commented(statement)
        except tomllib.TOMLDecodeError:
            continue  # the value continues on the next line
        names = [name for name, value in values.items() if _holds_secret(name, value)]
        words = "".join(f"{n} = {MASK}{' (new)' if n in changed else ''}\n" for n in names)
        statements.append(words or statement)
        statement = ""
    return "".join([*statements, f"{MASK}\n" if statement else ""])


def _commented(statement: str) -> dict[str, Any]:
    """Return the values of a statement that was made a comment; its name begins with #."""
    try:
        values = tomllib.loads(statement.strip().lstrip("# "))
    except tomllib.TOMLDecodeError:
        return {}
    return {f"# {name}": value for name, value in values.items()}


def _holds_secret(name: str, value: Any) -> bool:
    """Whether a key or one within its value is of a secret."""
    within = value if isinstance(value, list) else [value]
    return _is_secret(name.removeprefix("# ")) or any(
        _holds_secret(*pair) for each in within if isinstance(each, dict) for pair in each.items()
    )


def _is_secret(name: str) -> bool:
    """Whether a key of the file holds a secret, at its root or in a table."""
    return name in SECRETS or (name not in NAMES and bool(secret_kind(name)))


async def run_checks(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Run checks once each, without retries, in a process of their own; raises Busy."""
    if not _TRIALS.acquire(blocking=False):
        raise Busy(BUSY)
    loop = asyncio.get_running_loop()
    # shielded: a trial whose client disconnects ends without it, and frees its place then
    return await asyncio.shield(loop.run_in_executor(_THREADS, _run_apart, checks))


def _run_apart(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Run them on a separate event loop: that of a web server cannot start such a process."""
    try:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(_run_all(checks))
    finally:
        _TRIALS.release()


async def _run_all(checks: Sequence[Check]) -> list[dict[str, Any]]:
    process = await CheckProcess.start()
    try:
        return await asyncio.gather(*(_run(process, each) for each in checks))
    finally:
        await process.finish()


async def _run(process: CheckProcess, check: Check) -> dict[str, Any]:
    result: dict[str, Any] = {"name": check.name, "kind": check.kind, "ok": None, "detail": TRIED}
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            report = await process.run(replace(check, retries=0), time.monotonic())
    except TimeoutError:
        return {**result, "detail": LATE}
    except CheckProcessEnded:
        return result
    if report.error:
        return {**result, "detail": report.error}
    return {
        **result,
        "ok": report.ok,
        "warned": report.warned,
        "detail": report.detail,
        "latency_ms": report.latency_ms,
    }
