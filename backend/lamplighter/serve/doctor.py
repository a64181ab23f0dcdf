"""The doctor: what is wrong with an installation, and what to do about it."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import httpx2

from lamplighter import assets, clock
from lamplighter.config import lexicon
from lamplighter.config.settings import Settings
from lamplighter.domain.check import CommandCheck
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.service import Service
from lamplighter.engines.exec import NAME as EXEC
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import driver, migrate
from lamplighter.repository.condition import Condition, condition
from lamplighter.repository.database import file_of, is_postgres, shown
from lamplighter.repository.feed import run_directory
from lamplighter.repository.readable import MEND, unreadable
from lamplighter.serve import access, web
from lamplighter.serve.home import SESSIONS, ServicesFile

FREE_BYTES: Final = 64 * 2**20
UNREADABLE_SHOWN: Final = 20
CLOCK_SLACK: Final = timedelta(minutes=5)

ASKING_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` says what to do when it is not well."""

    ok: bool
    text: str
    advice: str = ""


def look(settings: Settings) -> list[Finding]:
    """Look at everything that can keep Lamplighter from working; changes nothing."""
    looks = (
        _sqlite,
        _home,
        _space,
        _run_directory,
        _database,
        _memories,
        _session_files,
        _services,
        _lexicon,
        _programs,
        _engine,
        _app,
        _token,
        _web,
    )
    return [finding for each in looks for finding in _found(each, settings)]


def _found(looking: Callable[[Settings], Iterable[Finding]], settings: Settings) -> list[Finding]:
    """Return what a look finds; one that fails itself has found something too."""
    try:
        return list(looking(settings))
    except Exception as error:
        what = looking.__name__.strip("_").replace("_", " ")
        text = f"The look at the {what} failed: {type(error).__name__}: {error}"
        return [Finding(False, text, "Mend what it names; if nothing is wrong there, report it.")]


def _sqlite(settings: Settings) -> Iterator[Finding]:
    if is_postgres(settings.database_url):
        return
    found = ".".join(map(str, driver.version()))
    yield Finding(
        driver.safe_for_several_processes(),
        f"SQLite {found}",
        "It may damage a database that two processes use. Install the package pysqlite3 0.6.1 "
        "or a system SQLite of 3.51.3 or newer; until then make backups.",
    )


def _home(settings: Settings) -> Iterator[Finding]:
    there = _nearest(settings.home)
    yield Finding(
        os.access(there, os.W_OK | os.X_OK),
        f"Home {settings.home}",
        "It may not be written to. Change its owner, or set LAMPLIGHTER_HOME to another directory.",
    )


def _nearest(path: Path) -> Path:
    """Return the directory itself, or the one that it will be made in."""
    return next(each for each in (path, *path.parents) if each.exists())


def _space(settings: Settings) -> Iterator[Finding]:
    free = shutil.disk_usage(_nearest(settings.home)).free
    advice = (
        "Free some. With none left nothing can be written, and removing rows needs space too; "
        "what is running goes on by itself as soon as there is some."
    )
    yield Finding(free >= FREE_BYTES, f"Space {free / 2**20:,.0f} MB left for the home", advice)


def _run_directory(settings: Settings) -> Iterator[Finding]:
    try:
        yield Finding(True, f"Sockets {run_directory(settings.home, make=False)}")
    except LamplighterError as error:
        advice = "Without it the two processes cannot tell each other what is new."
        yield Finding(False, f"Sockets: {error}", advice)


def _database(settings: Settings) -> Iterator[Finding]:
    if is_postgres(settings.database_url):
        yield from _postgres(settings.database_url)
        return
    path = file_of(settings.database_url)
    if not path.exists():
        yield Finding(True, f"Database {path}: not there yet, made at the first start")
        return
    try:
        at, found = migrate.revision(path), condition(path)
    except driver.OperationalError as error:
        advice = "Let this user write there, see that there is space, end what keeps it locked."
        yield Finding(False, f"Database {path}: {error}", advice)
        return
    except driver.Error as error:
        yield Finding(False, f"Database {path}: {error}", "Restore it from a backup.")
        return
    if found.check != "ok":
        yield Finding(False, f"Database {path}: {found.check}", "Restore it from a backup.")
        return
    if at is not None and at > migrate.head():
        yield Finding(False, f"Database {path}: revision {at}", "Start the newer Lamplighter.")
    else:
        yield Finding(True, f"Database {path}: sound, revision {at}")
    yield from _at_odds(found)


def _postgres(url: str) -> Iterator[Finding]:
    from lamplighter.repository.condition_postgres import condition as look_at

    name = f"Database {shown(url)}"
    try:
        at, found = migrate.revision_of(url), look_at(url)
    except (LamplighterError, driver.Error) as error:
        yield Finding(False, name, str(error))
        return
    if found.check != "ok":
        advice = "Give LAMPLIGHTER_DATABASE_URL a server that this user may write to."
        yield Finding(False, f"{name}: {found.check}", advice)
    elif at is not None and at > migrate.head():
        yield Finding(False, f"{name}: revision {at}", "Start the newer Lamplighter.")
    else:
        yield Finding(True, f"{name}: sound, revision {at}" if at else f"{name}: still empty")
    yield from _at_odds(found)


def _at_odds(found: Condition) -> Iterator[Finding]:
    """Tell what keeps a sound database from being used as it should."""
    if found.locked:
        advice = "Find who holds it (`fuser` on the file, `pg_locks`): until it ends writes wait."
        yield Finding(False, "The database is locked by another program", advice)
    now = clock.now()
    if found.newest is not None and found.newest - now > CLOCK_SLACK:
        text = (
            f"The clock says {now:%Y-%m-%d %H:%M} UTC, the newest row {found.newest:%Y-%m-%d %H:%M}"
        )
        yield Finding(False, text, "Set the clock. Until then no memory fades.")


def _memories(settings: Settings) -> Iterator[Finding]:
    """Name the rows that cannot be read; of a database that is sick itself the look at it tells."""
    url = settings.database_url
    if not is_postgres(url) and not file_of(url).exists():
        return
    with suppress(LamplighterError, driver.Error, OSError):
        for error in asyncio.run(unreadable(url, UNREADABLE_SHOWN)):
            yield Finding(False, str(error).removesuffix(f" {MEND}"), f"{MEND} It is passed over.")


def _session_files(settings: Settings) -> Iterator[Finding]:
    directory = settings.home / SESSIONS
    if not directory.exists():
        return
    try:
        for path in directory.glob("*.jsonl"):
            with path.open("rb"):
                pass
    except OSError as error:
        text = f"{error.filename} cannot be read: {error.strerror}"
        yield Finding(False, text, "Give it back to this user; a session that runs needs its file.")
    if not (directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)):
        advice = "It holds what sessions print. Make it a directory that this user may write to."
        yield Finding(False, f"{directory} may not be written to", advice)


def _services(settings: Settings) -> Iterator[Finding]:
    if not settings.services.exists():
        yield Finding(True, f"{settings.services}: not there yet, written at the first start")
        return
    try:
        services = ServicesFile(settings.services).load()
    except LamplighterError as error:
        yield Finding(False, str(error).splitlines()[0], f"Mend {settings.services}.")
        return
    yield Finding(True, f"{settings.services}: {len(services)} declared")


def _lexicon(settings: Settings) -> Iterator[Finding]:
    if not settings.lexicon.exists() and settings.lexicon.parent == settings.home:
        return
    try:
        lexicon.in_force(settings)
    except LamplighterError as error:
        yield Finding(False, str(error), f"Mend {settings.lexicon}: nothing starts until then.")
        return
    yield Finding(True, f"{settings.lexicon}: added to the words we know")


def _programs(settings: Settings) -> Iterator[Finding]:
    """Look whether the programs that checks and actions run can be found."""
    with suppress(LamplighterError):
        for service in ServicesFile(settings.services).load():
            for what, program, directory in _run_by(service):
                path = os.path.join(directory, program) if "/" in program else program
                if shutil.which(path) is None:
                    text = f"{service.name}: {what} runs {program!r}, which is not found"
                    yield Finding(False, text, f"Install it, or correct {settings.services}.")


def _run_by(service: Service) -> Iterator[tuple[str, str, str]]:
    for action in service.actions:
        yield f"action {action.name}", action.argv[0], action.directory or "/"
    for check in service.checks:
        if isinstance(check, CommandCheck):
            yield f"check {check.name}", check.argv[0], check.directory or "/"


def _engine(settings: Settings) -> Iterator[Finding]:
    why_not = ExecEngine(settings.exec_command).probe() if settings.engine == EXEC else None
    yield Finding(why_not is None, f"Engine {settings.engine}", why_not or "")


def _app(settings: Settings) -> Iterator[Finding]:
    advice = "Run `make up` in the checkout, which builds it; the API works without it."
    yield Finding((assets.WEB / "index.html").is_file(), f"App {assets.WEB}", advice)


def _token(settings: Settings) -> Iterator[Finding]:
    path = access.token_file(settings)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        yield Finding(True, f"Token {path}: not there yet, made at the first start")
        return
    except OSError as error:
        yield Finding(False, f"Token {path}: {error.strerror}", "Give this user the right to it.")
        return
    yield Finding(
        not mode & access.OTHERS,
        f"Token {path}",
        "Others may read it. The next start closes it to them; if somebody may have, revoke it "
        "(`lamplighter token list`, `lamplighter token revoke ID`): a new one is made.",
    )


def _web(settings: Settings) -> Iterator[Finding]:
    """Ask the running web process, as a script would: with the token of the home."""
    address = access.url(settings)
    if not web.answers(settings):
        yield Finding(True, f"Web process {address}: does not run")
        return
    words = access.words_of(settings)
    try:
        answer = httpx2.get(
            f"{address}/api/v1/supervisor",
            headers={"Authorization": f"Bearer {words}"} if words else {},
            trust_env=False,
            timeout=ASKING_SECONDS,
        )
        found = answer.json()
    except (httpx2.HTTPError, ValueError):
        advice = "Something else may listen there. Set LAMPLIGHTER_PORT to a free one."
        yield Finding(False, f"{address} does not answer as Lamplighter does", advice)
        return
    if answer.status_code == 503:
        advice = "It goes on by itself when its database does; see what is said of that."
        yield Finding(False, f"{address} answers, but cannot use its database now", advice)
        return
    if answer.status_code != 200:
        advice = (
            "It may serve another home: end it, or set LAMPLIGHTER_PORT to a free one. If it is "
            "this one, its token was revoked: start it again."
        )
        yield Finding(False, f"{address} does not take this home's token", advice)
        return
    leads = "a supervisor leads" if found["state"] != "away" else "no supervisor leads"
    yield Finding(True, f"Web process {address}: takes this home's token; {leads}")
