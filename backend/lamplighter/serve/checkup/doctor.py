"""The doctor: problems of an installation and how to fix them."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

import httpx2

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.search.semantic import judge_index as told_meaning
from lamplighter.domain.services import vitals
from lamplighter.domain.services.vitals import VitalSign, build_sign
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import display_address, file_of, is_postgres
from lamplighter.repository.store.file_watch import REPAIR
from lamplighter.repository.store.unreadable import HINT, list_unreadable
from lamplighter.repository.upkeep import migrate
from lamplighter.repository.upkeep.database_state import DatabaseCondition, inspect_file
from lamplighter.serve import database_file, home, web
from lamplighter.serve.checkup import checks
from lamplighter.serve.local import home_token, web_url
from lamplighter.serve.queries import vectors
from lamplighter.serve.semantic import finder
from lamplighter.usecases.system import vitals as gathered

UNREADABLE_SHOWN: Final = 20
REQUEST_SECONDS: Final = 5.0
NEWER: Final = "Start the Lamplighter version that migrated the database, or a newer one."


def diagnose(settings: Settings) -> list[VitalSign]:
    """Check everything that Lamplighter needs; change nothing."""
    every = (
        checks.sqlite,
        checks.home,
        checks.permissions,
        checks.user,
        checks.space,
        checks.run_directory,
        _halt,
        _database,
        _memories,
        _memories_to_review,
        _embeddings,
        checks.session_files,
        checks.notebook,
        checks.services,
        checks.lexicon,
        checks.prices,
        checks.programs,
        checks.engine,
        checks.app,
        checks.token,
        checks.roots,
        checks.notifications,
        _web,
        _memory_service,
        _remote_services,
    )
    return [sign for each in every for sign in checks.run_check(each, settings)]


def _database(settings: Settings) -> Iterator[VitalSign]:
    if is_postgres(settings.database_url):
        yield from _postgres(settings.database_url)
        return
    path, lost = file_of(settings.database_url), database_file.lost_database(settings)
    if lost:
        yield build_sign("database", False, *lost)
        return
    if not path.exists():
        yield build_sign(
            "database", True, f"Database {path}: not created yet; created at the first start"
        )
        return
    try:
        at, condition = migrate.revision(path), inspect_file(path)
    except driver.OperationalError as error:
        advice = "Make the file writable, free disk space, and end the program that locks it."
        yield build_sign("database", False, f"Database {path}: {error}", advice)
        return
    except driver.Error as error:
        yield build_sign("database", False, f"Database {path}: {error}", REPAIR)
        return
    if condition.check != "ok":
        yield build_sign("database", False, f"Database {path}: {condition.check}", REPAIR)
        return
    if at is not None and at > migrate.newest_revision():
        yield build_sign(
            "database", False, f"Database {path}: revision {at} is newer than this version", NEWER
        )
    else:
        yield build_sign("database", True, f"Database {path}: healthy, revision {at}")
    yield from _database_warnings(condition)


def _postgres(url: str) -> Iterator[VitalSign]:
    from lamplighter.repository.upkeep.postgres_state import inspect_server as look_at

    name = f"Database {display_address(url)}"
    try:
        at, condition = migrate.revision_of(url), look_at(url)
    except (LamplighterError, driver.Error) as error:
        yield build_sign("database", False, name, str(error))
        return
    if condition.check != "ok":
        advice = "Set LAMPLIGHTER_DATABASE_URL to a database that this user can write to."
        yield build_sign("database", False, f"{name}: {condition.check}", advice)
    elif at is not None and at > migrate.newest_revision():
        yield build_sign(
            "database", False, f"{name}: revision {at} is newer than this version", NEWER
        )
    else:
        yield build_sign(
            "database", True, f"{name}: healthy, revision {at}" if at else f"{name}: empty"
        )
    yield from _database_warnings(condition)


def _database_warnings(condition: DatabaseCondition) -> Iterator[VitalSign]:
    """Report problems that slow down or limit a healthy database."""
    if condition.locked:
        advice = (
            "Find the program (`fuser FILE`, or `pg_locks`) and end it. Writes wait until then."
        )
        yield build_sign("database", False, "The database is locked by another program", advice)
    if condition.index:
        advice = "Stop Lamplighter and run `lamplighter migrate` to rebuild the index."
        words = f"The search index is damaged: {condition.index}"
        yield build_sign("database", False, words, advice)
    sign = vitals.judge_clock(condition.newest, now=clock.now())
    if not sign.ok:
        yield sign


def _halt(settings: Settings) -> Iterator[VitalSign]:
    """Report a halt, as far as the database can be read."""
    halt_control = home.halt_control(settings)
    halt = halt_control.by_file() or migrate.read_current(
        settings.database_url, halt_control.pulled
    )
    if halt is not None:
        yield vitals.judge_halt(halt.description, halt_control.release(halt))


def _memories(settings: Settings) -> Iterator[VitalSign]:
    """Report unreadable rows; a damaged database is reported by its own check."""
    url = settings.database_url
    if not is_postgres(url) and not file_of(url).exists():
        return
    with suppress(LamplighterError, driver.Error, OSError):
        for error in asyncio.run(list_unreadable(url, UNREADABLE_SHOWN)):
            yield build_sign(
                "database",
                False,
                str(error).removesuffix(f" {HINT}"),
                f"{HINT} The row is skipped.",
            )


def _memories_to_review(settings: Settings) -> Iterator[VitalSign]:
    """Report the last measurement of the memory, if the database can be read."""
    sign = migrate.read_current(settings.database_url, gathered.memory_sign)
    if sign is not None:
        yield sign


def _embeddings(settings: Settings) -> Iterator[VitalSign]:
    """Report how many memories have embeddings, if the database can be read."""
    why_not = finder.why_not(settings)
    found = None if why_not else vectors.progress(settings)
    if why_not or found is not None:
        yield told_meaning(found, why_not=why_not)


def _web(settings: Settings) -> Iterator[VitalSign]:
    """Query the running web process with the home's token, as a script would."""
    address = web_url(settings)
    if not web.accepts_connections(settings):
        yield build_sign("web", True, f"Web process {address}: not running")
        return
    words = home_token.read_home_token(settings)
    try:
        answer = httpx2.get(
            f"{address}/api/v1/supervisor",
            headers={"Authorization": f"Bearer {words}"} if words else {},
            trust_env=False,
            timeout=REQUEST_SECONDS,
        )
        overview = answer.json()
    except httpx2.TimeoutException:
        advice = (
            "Restart the web process if it hangs. If another program uses this port, set "
            "LAMPLIGHTER_PORT to a free port."
        )
        yield build_sign("web", False, f"{address} does not answer", advice)
        return
    except (httpx2.HTTPError, ValueError):
        advice = "Another program may use this port. Set LAMPLIGHTER_PORT to a free port."
        yield build_sign("web", False, f"{address} is not answered by Lamplighter", advice)
        return
    if answer.status_code == 503:
        advice = "Fix the database finding. The web process then recovers by itself."
        yield build_sign(
            "web", False, f"{address} answers, but its database is not available", advice
        )
        return
    if answer.status_code != 200:
        advice = (
            "It may serve another home: stop it, or set LAMPLIGHTER_PORT. If it serves "
            "this home, its token was revoked: restart it."
        )
        yield build_sign("web", False, f"{address} rejects this home's token", advice)
        return
    yield from _not_ready(address)
    leads = "supervisor online" if overview["state"] != "away" else "supervisor offline"
    yield build_sign("web", True, f"Web process {address}: accepts this home's token; {leads}")


def _not_ready(address: str) -> Iterator[VitalSign]:
    """Repeat the web process's report on its open database file."""
    with suppress(httpx2.HTTPError, ValueError):
        answer = httpx2.get(f"{address}/readyz", trust_env=False, timeout=REQUEST_SECONDS)
        if answer.status_code == 503:
            yield from vitals.judge_database_file(answer.json()["detail"])


def _memory_service(settings: Settings) -> Iterator[VitalSign]:
    """Check that Lamplighter answers on the port of the memory service."""
    at = replace(settings, port=settings.memory_port)
    address = web_url(at)
    if not web.accepts_connections(at):
        yield build_sign("memory_service", True, f"Memory service {address}: not running")
        return
    advice = "Another program, possibly engram, uses this port. Set LAMPLIGHTER_MEMORY_PORT."
    try:
        found = httpx2.get(f"{address}/health", trust_env=False, timeout=REQUEST_SECONDS).json()
        ours = isinstance(found, dict) and found.get("service") == "lamplighter"
    except (httpx2.HTTPError, ValueError):
        ours = False
    words = "answers" if ours else "is not answered by Lamplighter"
    yield build_sign("memory_service", ours, f"Memory service {address}: {words}", advice)


def _remote_services(settings: Settings) -> Iterator[VitalSign]:
    """Check the external memory services of agents."""
    for agent in settings.agents:
        if not agent.memory_url:
            continue
        about = f"Agent {agent.name} uses the memory service at {agent.memory_url}, over MCP only: "
        about += "its hooks neither store nor include memories here, and /agentops rejects it"
        try:
            url, wait = f"{agent.memory_url}/health", REQUEST_SECONDS
            well = httpx2.get(url, trust_env=False, timeout=wait).is_success
        except (httpx2.HTTPError, httpx2.InvalidURL):
            well = False
        advice = "Start that service, or correct memory_url in lamplighter.toml."
        words = about if well else f"{about}; the service does not answer"
        yield build_sign("elsewhere", well, words, advice)
