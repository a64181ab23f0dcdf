"""Checks of an installation, shared by the doctor and the health page."""

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from lamplighter import assets
from lamplighter.config import lexicon as lexicons
from lamplighter.config import prices as price_file
from lamplighter.config.settings import FILE, Settings
from lamplighter.domain.access.device import ROUTE
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services import vitals
from lamplighter.domain.services.check import CommandCheck
from lamplighter.domain.services.service import Service
from lamplighter.domain.services.vitals import VitalSign, VitalStatus, build_sign
from lamplighter.engines import ExternalEngine
from lamplighter.notebook.git import MISSING
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import is_postgres
from lamplighter.serve import outbox
from lamplighter.serve.home import SESSIONS, default_engines, engines
from lamplighter.serve.local import home_token, read_identity
from lamplighter.serve.local import run_directory as directory_of
from lamplighter.serve.services_file import ServicesFile

HealthCheck = Callable[[Settings], Iterable[VitalSign]]
UNTIL_FIXED: Final = "Fix {}. Lamplighter does not start until then."


def run_check(check: HealthCheck, settings: Settings) -> list[VitalSign]:
    """Run a check; a check that fails is itself a finding."""
    try:
        return list(check(settings))
    except Exception as error:
        name = check.__name__.strip("_")
        words = f"The check of {name.replace('_', ' ')} failed: {type(error).__name__}: {error}"
        advice = "Fix the cause that the error names, or report a bug."
        return [VitalSign(name, VitalStatus.FAILING, words, advice)]


def sqlite(settings: Settings) -> Iterator[VitalSign]:
    """Check that the version of SQLite is safe for several processes."""
    if is_postgres(settings.database_url):
        return
    found = ".".join(map(str, driver.version()))
    yield build_sign(
        "sqlite",
        driver.safe_for_several_processes(),
        f"SQLite {found}",
        "This version may damage a database that two processes use. Install pysqlite3 0.6.1, "
        "or SQLite 3.51.3 or newer on the system. Make backups until then.",
    )


def home(settings: Settings) -> Iterator[VitalSign]:
    """Check that the home is writable."""
    there = _nearest_directory(settings.home)
    yield build_sign(
        "home",
        os.access(there, os.W_OK | os.X_OK),
        f"Home {settings.home}",
        "Not writable. Change its owner, or set LAMPLIGHTER_HOME to another directory.",
    )


def permissions(settings: Settings) -> Iterator[VitalSign]:
    """List the files that every user of this machine may change: they decide what runs here."""
    found = {
        settings.home: "home",
        settings.services: "services",
        settings.home / FILE: "settings file",
    }
    for path, name in found.items():
        if not path.exists():
            continue
        places = (path, *path.parents, path.resolve(), *path.resolve().parents)
        open_one = next(filter(_is_open, places), None)
        words = f"Permissions of the {name}: not world-writable"
        if open_one is not None:
            words = f"Any user of this machine can change {path}: {open_one} is world-writable"
        advice = f"The file defines commands that run as this user. Run: chmod o-w {open_one}"
        yield build_sign("permissions", open_one is None, words, advice)


def _is_open(path: Path) -> bool:
    """Whether every user may write a file, or replace the files of a directory."""
    mode = path.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX)


def user(settings: Settings) -> Iterator[VitalSign]:
    """Warn if checks, actions and engines run as root."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        yield VitalSign(
            "user",
            VitalStatus.WARNING,
            "Lamplighter runs as root, and with it its checks, actions and engines",
            f"Use a separate user with write access to {settings.home} (docs/how-to/deploy.md).",
        )


def _nearest_directory(path: Path) -> Path:
    """Return the directory itself, or the one that it will be made in."""
    return next(each for each in (path, *path.parents) if each.exists())


def space(settings: Settings) -> Iterator[VitalSign]:
    """Check the free disk space."""
    yield vitals.judge_space(shutil.disk_usage(_nearest_directory(settings.home)).free)


def run_directory(settings: Settings) -> Iterator[VitalSign]:
    """Check the directory of the sockets."""
    try:
        yield build_sign("sockets", True, f"Sockets {directory_of(settings.home, make=False)}")
    except LamplighterError as error:
        advice = "The web process and the supervisor use this directory to notify each other."
        yield build_sign("sockets", False, f"Sockets: {error}", advice)


def notebook(settings: Settings) -> Iterator[VitalSign]:
    """Check that the pages of the notebook can be read and written."""
    tree, problem = NotebookTree(settings.home, read_identity(settings.home)), _problem("notebook")
    if not settings.notebook or not os.path.lexists(tree.root):
        return
    try:
        tree.check_owner()
        tree.scan()
    except OSError as error:
        yield problem(
            f"{tree.root} cannot be used: {error.strerror}",
            "Make the path a directory of this user and this home, not a link. Memories are stored "
            "as before.",
        )
        return
    if settings.notebook_git and shutil.which("git") is None:
        yield problem("The notebook is not committed", MISSING)
    for name, reason in tree.skipped.items():
        advice = "Rename or correct the file, so that its edits are read."
        yield problem(f"{tree.root / name} is not read: {reason}", advice)
    for path in (tree.root, *tree.root.iterdir()):
        if path.is_dir() and not _is_writable(path):
            advice = "Make it writable for this user. Memories are stored as before."
            yield problem(f"{path} is not writable", advice)
    if not os.statvfs(tree.root).f_bavail:
        advice = "Free space on the disk. Memories are stored as before where their disk has space."
        yield problem(f"{tree.root} has no space left", advice)


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK | os.X_OK)


def _problem(name: str) -> Callable[[str, str], VitalSign]:
    return partial(VitalSign, name, VitalStatus.FAILING)


def session_files(settings: Settings) -> Iterator[VitalSign]:
    """Check that the files of sessions can be read and written."""
    directory, problem = settings.home / SESSIONS, _problem("session_files")
    if not directory.exists():
        return
    try:
        for path in directory.glob("*.jsonl"):
            path.open("rb").close()
    except OSError as error:
        advice = "Make the file readable for this user. A running session needs its file."
        yield problem(f"{error.filename} cannot be read: {error.strerror}", advice)
    if not (directory.is_dir() and _is_writable(directory)):
        advice = "Make the path a directory that this user can write to."
        yield problem(f"{directory} is not writable", f"Session output is stored there. {advice}")


def services(settings: Settings) -> Iterator[VitalSign]:
    """Check that services.yaml can be read."""
    path = settings.services
    if not path.exists():
        yield build_sign("services", True, f"{path}: not created yet; written at the first start")
        return
    try:
        count = len(ServicesFile(path).load())
    except LamplighterError as error:
        yield build_sign("services", False, str(error).splitlines()[0], f"Fix {path}.")
    else:
        yield build_sign("services", True, f"{path}: {count} declared")


def lexicon(settings: Settings) -> Iterator[VitalSign]:
    """Check that lexicon.toml can be read, if it exists."""
    path = settings.lexicon
    if not path.exists() and path.parent == settings.home:
        return
    try:
        lexicons.active_lexicon(settings)
    except LamplighterError as error:
        yield build_sign("lexicon", False, str(error), UNTIL_FIXED.format(path))
    else:
        yield build_sign("lexicon", True, f"{path}: extends the built-in lexicon")


def prices(settings: Settings) -> Iterator[VitalSign]:
    """Check that prices.toml can be read, if it exists."""
    path = price_file.prices_path(settings)
    if not path.exists():
        return
    try:
        overrides = price_file.active_prices(settings)
    except LamplighterError as error:
        yield build_sign("prices", False, str(error), UNTIL_FIXED.format(path))
    else:
        count = "1 model" if len(overrides) == 1 else f"{len(overrides)} models"
        yield build_sign("prices", True, f"{path}: overrides the prices of {count}")


def programs(settings: Settings) -> Iterator[VitalSign]:
    """Check that the programs of checks and actions can be found."""
    with suppress(LamplighterError):
        for service in ServicesFile(settings.services).load():
            for what, program, directory in _programs_of(service):
                path = os.path.join(directory, program) if "/" in program else program
                if shutil.which(path) is None:
                    text = f"{service.name}: {what} runs {program!r}, which was not found"
                    yield _problem("programs")(text, f"Install it, or correct {settings.services}.")


def _programs_of(service: Service) -> Iterator[tuple[str, str, str]]:
    for action in service.actions:
        yield f"action {action.name}", action.argv[0], action.directory or "/"
    for check in service.checks:
        if isinstance(check, CommandCheck):
            yield f"check {check.name}", check.argv[0], check.directory or "/"


def engine(settings: Settings) -> Iterator[VitalSign]:
    """Check that the engine of each tier can run."""
    usual = default_engines(settings)
    try:
        here = {each.name: each for each in engines(settings)}
    except price_file.PricesError:  # the check of the prices reports it
        return
    for name in dict.fromkeys(usual.values()):
        found = here.get(name)
        why_not = found.probe() if found else "This engine is not installed."
        tiers = [str(tier) for tier, each in usual.items() if each == name]
        of = "" if len(tiers) == len(usual) else f" (tier {' and '.join(tiers)})"
        program = found.installed() if isinstance(found, ExternalEngine) else None
        runs = f": {program.path} {program.version}" if program else ""
        yield build_sign("engine", why_not is None, f"Engine {name}{of}{runs}", why_not or "")


def app(settings: Settings) -> Iterator[VitalSign]:
    """Check that the app was built."""
    advice = "Run `make up` in the checkout to build the app. The API works without it."
    yield build_sign("app", (assets.WEB / "index.html").is_file(), f"App {assets.WEB}", advice)


def notifications(settings: Settings) -> Iterator[VitalSign]:
    """Check that the notification addresses are valid; sends nothing."""
    if not settings.notify:
        yield build_sign("notifications", True, "Notifications: LAMPLIGHTER_NOTIFY is not set")
        return
    wrong = [*outbox.address_problems(settings.notify), *_unknown_targets(settings)]
    count = len(settings.notify)
    words = f"Notifications: {count} address{'' if count == 1 else 'es'}; `lamplighter notify test`"
    advice = "Write a comma or a space in an address as %2C or %20 (docs/how-to/notifications.md)."
    yield build_sign("notifications", not wrong, " ".join(wrong) or words, advice)


def _unknown_targets(settings: Settings) -> list[str]:
    """Name the targets of services.yaml that no address has: their alerts go to all addresses."""
    targets = {outbox.split_target(word)[0].casefold() for word in settings.notify} | {ROUTE}
    services = ServicesFile(settings.services).last_good()
    named = {name for each in services for name in each.notify if name.casefold() not in targets}
    return [
        f"services.yaml names the notification target {name}; LAMPLIGHTER_NOTIFY has none of it."
        for name in sorted(named)
    ]


def roots(settings: Settings) -> Iterator[VitalSign]:
    """Check that the directories exist that sessions may read."""
    if gone := [str(each) for each in settings.read_roots if not each.is_dir()]:
        words = f"LAMPLIGHTER_READ_ROOTS: {' and '.join(gone)}: not a readable directory"
        advice = "Create the directory, make it readable for this user, or fix the setting."
        yield build_sign("roots", False, words, advice)


def token(settings: Settings) -> Iterator[VitalSign]:
    """Check that only its owner can read the token of the home."""
    path = home_token.token_file(settings)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        text = f"Token {path}: not created yet; created at the first start"
        yield build_sign("token", True, text)
    except OSError as error:
        advice = "Make the file readable for this user."
        yield build_sign("token", False, f"Token {path}: {error.strerror}", advice)
    else:
        yield build_sign(
            "token",
            not mode & home_token.GROUP_AND_OTHERS,
            f"Token {path}",
            "Other users can read the token. The next start restricts it to its owner. To replace "
            "the token, revoke it (`lamplighter token list`, `lamplighter token revoke ID`).",
        )


FILES = (services, lexicon, prices, programs, engine, app, token, roots)
ALL = (sqlite, home, space, run_directory, session_files, *FILES)
"""Checks without database reads or network requests, in display order."""
