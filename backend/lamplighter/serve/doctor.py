"""The doctor: what is wrong with an installation, and what to do about it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from lamplighter import assets
from lamplighter.config.settings import Settings
from lamplighter.domain.check import CommandCheck
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.service import Service
from lamplighter.engines.exec import NAME as EXEC
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import driver, migrate
from lamplighter.repository.database import file_of
from lamplighter.serve.home import ServicesFile


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` says what to do when it is not well."""

    ok: bool
    text: str
    advice: str = ""


def look(settings: Settings) -> list[Finding]:
    """Look at everything that can keep Lamplighter from working; changes nothing."""
    return [
        _sqlite(),
        _home(settings),
        _database(settings),
        _services(settings),
        *_programs(settings),
        _engine(settings),
        _app(),
    ]


def _sqlite() -> Finding:
    found = ".".join(map(str, driver.version()))
    return Finding(
        driver.safe_for_several_processes(),
        f"SQLite {found}",
        "It may damage a database that two processes use. Install the package pysqlite3 0.6.1 "
        "or a system SQLite of 3.51.3 or newer; until then make backups.",
    )


def _home(settings: Settings) -> Finding:
    there = next(each for each in (settings.home, *settings.home.parents) if each.exists())
    return Finding(
        os.access(there, os.W_OK | os.X_OK),
        f"Home {settings.home}",
        "It may not be written to. Change its owner, or set LAMPLIGHTER_HOME to another directory.",
    )


def _database(settings: Settings) -> Finding:
    path = file_of(settings.database_url)
    if not path.exists():
        return Finding(True, f"Database {path}: not there yet, made at the first start")
    try:
        at = migrate.revision(path)
        with closing(driver.connect(str(path), readonly=True)) as connection:
            found = str(connection.execute("PRAGMA quick_check").fetchone()[0])
    except driver.OperationalError as error:
        advice = "Give this user the right to write there, and end what keeps it locked."
        return Finding(False, f"Database {path}: {error}", advice)
    except driver.Error as error:
        return Finding(False, f"Database {path}: {error}", "Restore it from a backup.")
    if found != "ok":
        return Finding(False, f"Database {path}: {found}", "Restore it from a backup.")
    if at is not None and at > migrate.head():
        return Finding(False, f"Database {path}: revision {at}", "Start the newer Lamplighter.")
    return Finding(True, f"Database {path}: sound, revision {at}")


def _services(settings: Settings) -> Finding:
    if not settings.services.exists():
        return Finding(True, f"{settings.services}: not there yet, written at the first start")
    try:
        services = ServicesFile(settings.services).load()
    except LamplighterError as error:
        return Finding(False, str(error).splitlines()[0], f"Mend {settings.services}.")
    return Finding(True, f"{settings.services}: {len(services)} declared")


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


def _engine(settings: Settings) -> Finding:
    why_not = ExecEngine(settings.exec_command).probe() if settings.engine == EXEC else None
    return Finding(why_not is None, f"Engine {settings.engine}", why_not or "")


def _app() -> Finding:
    advice = "Run `make up` in the checkout, which builds it; the API works without it."
    return Finding((assets.WEB / "index.html").is_file(), f"App {assets.WEB}", advice)
