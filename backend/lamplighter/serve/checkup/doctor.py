"""The doctor: problems of an installation and how to fix them."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

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
        *checks.FILES,
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
    name = f"Database {path}"
    if lost:
        yield build_sign("database", False, *lost)
        return
    if not path.exists():
        words = f"{name}: not created yet; created at the first start"
        yield build_sign("database", True, words)
        return
    try:
        at, condition = migrate.revision(path), inspect_file(path)
    except driver.Error as error:
        advice = "Make the file writable, free disk space, and end the program that locks it."
        remedy = advice if isinstance(error, driver.OperationalError) else REPAIR
        yield build_sign("database", False, f"{name}: {error}", remedy)
        return
    if condition.check != "ok":
        yield build_sign("database", False, f"{name}: {condition.check}", REPAIR)
        return
    yield _judge_revision(name, at)
    yield from _database_warnings(at, condition)


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
    else:
        yield _judge_revision(name, at)
    yield from _database_warnings(at, condition)


def _judge_revision(name: str, at: str | None) -> VitalSign:
    newest = migrate.newest_revision()
    if at is not None and at > newest:
        newer = f"{name}: revision {at} is newer than this version"
        return build_sign("database", False, newer, NEWER)
    words = f"healthy, revision {at}" if at else "empty"
    if at is not None and at < newest:
        words += f"; the next start migrates it to {newest}"
    return build_sign("database", True, f"{name}: {words}")


def _database_warnings(at: str | None, condition: DatabaseCondition) -> Iterator[VitalSign]:
    """Report problems that slow down or limit a healthy database."""
    if condition.locked:
        advice = "Find the program (`fuser FILE`, or `pg_locks`) and end it."
        locked = "The database is locked by another program"
        yield build_sign("database", False, locked, f"{advice} Writes wait until then.")
    # an earlier revision may have an earlier index, which its migration replaces
    if condition.index and at == migrate.newest_revision():
        advice = "Stop Lamplighter and run `lamplighter migrate` to rebuild the index."
        damage = f"The search index is damaged: {condition.index}"
        yield build_sign("database", False, damage, advice)
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
            words = str(error).removesuffix(f" {HINT}")
            yield build_sign("database", False, words, f"{HINT} The row is skipped.")


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
    headers = {"Authorization": f"Bearer {words}"} if words else {}
    try:
        answer = _get(f"{address}/api/v1/supervisor", headers=headers)
        problem, overview = _REFUSALS.get(answer.status_code, _REJECTED), answer.json()
    except httpx2.TimeoutException:
        problem = _SILENT
    except (httpx2.HTTPError, ValueError):
        problem = _OTHER_PROGRAM
    if problem is not None:
        yield build_sign("web", False, f"{address} {problem[0]}", problem[1])
        return
    with suppress(httpx2.HTTPError, ValueError):  # its report on its open database file
        ready = _get(f"{address}/readyz")
        if ready.status_code == 503:
            yield from vitals.judge_database_file(ready.json()["detail"])
    leads = "supervisor online" if overview["state"] != "away" else "supervisor offline"
    yield build_sign("web", True, f"Web process {address}: accepts this home's token; {leads}")


def _get(url: str, **options: Any) -> httpx2.Response:
    return httpx2.get(url, trust_env=False, timeout=REQUEST_SECONDS, **options)


_REFUSALS: Final = {
    200: None,
    503: (
        "answers, but its database is not available",
        "Fix the database finding. The web process then recovers by itself.",
    ),
}
_REJECTED: Final = (
    "rejects this home's token",
    "It may serve another home: stop it, or set LAMPLIGHTER_PORT. If it serves "
    "this home, its token was revoked: restart it.",
)
_SILENT: Final = (
    "does not answer",
    "Restart the web process if it hangs. If another program uses this port, set "
    "LAMPLIGHTER_PORT to a free port.",
)
_OTHER_PROGRAM: Final = (
    "is not answered by Lamplighter",
    "Another program may use this port. Set LAMPLIGHTER_PORT to a free port.",
)


def _memory_service(settings: Settings) -> Iterator[VitalSign]:
    """Check that Lamplighter answers on the port of the memory service."""
    at = replace(settings, port=settings.memory_port)
    address = web_url(at)
    if not web.accepts_connections(at):
        yield build_sign("memory_service", True, f"Memory service {address}: not running")
        return
    advice = "Another program, possibly engram, uses this port. Set LAMPLIGHTER_MEMORY_PORT."
    try:
        found = _get(f"{address}/health").json()
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
            well = _get(f"{agent.memory_url}/health").is_success
        except (httpx2.HTTPError, httpx2.InvalidURL):
            well = False
        advice = "Start that service, or correct memory_url in lamplighter.toml."
        words = about if well else f"{about}; the service does not answer"
        yield build_sign("elsewhere", well, words, advice)
