"""The home: the directory of all data, and of the files that a person writes."""

import asyncio
import logging
import os
import secrets as random_text
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lamplighter import __version__, clock, telemetry
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Busy, Unavailable
from lamplighter.domain.sessions.session import Home
from lamplighter.repository import Database
from lamplighter.repository.feed.signals import ChangeNotifier
from lamplighter.repository.store import database as numbers
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import is_postgres, password_of
from lamplighter.repository.upkeep import migrate
from lamplighter.serve import database_file, file_replacement, home_lock
from lamplighter.serve.local import IDENTITY, run_directory

if TYPE_CHECKING:
    from lamplighter.domain.secrets.redact import Redactor
    from lamplighter.domain.services.notice import NoticePolicy
    from lamplighter.engines import Engine
    from lamplighter.usecases.context import Context
    from lamplighter.usecases.organize.model import SentenceSelector
    from lamplighter.usecases.sessions.halt import HaltControl

logger = logging.getLogger(__name__)
T = TypeVar("T")

SESSIONS: Final = database_file.SESSIONS
IDENTITY_BYTES: Final = 6
SERVER_WAIT_SECONDS: Final = 30.0  # a PostgreSQL server may start at the same time
COMMAND_WAIT_SECONDS: Final = 10.0  # no longer than one attempt on a server that is stuck


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run work in the background during this context, and end it in any case."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def repeating(step: Callable[[], Awaitable[float]], *, start: float) -> AsyncIterator[None]:
    """Repeat a step in the background during this context; it returns the pause after it."""

    async def repeat() -> None:
        await asyncio.sleep(start)
        while True:
            rest = await step()
            await asyncio.sleep(rest)

    async with running(repeat()):
        yield


def prepare(settings: Settings, *, patience: float = COMMAND_WAIT_SECONDS) -> None:
    """Make the home and bring its database to the newest revision; raises Unavailable.

    A PostgreSQL server that does not run yet is waited for, up to `patience` seconds.
    """
    os.umask(0o077)  # files of the home are private to their owner
    try:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Unavailable(_unusable(settings.home, error.strerror)) from error
    if not os.access(settings.home, os.W_OK | os.X_OK):
        raise Unavailable(_unusable(settings.home, "it is not writable"))
    if file_replacement.is_interrupted(settings.home):
        file_replacement.settle(settings)
    run_directory(settings.home)
    if not is_postgres(settings.database_url) and not driver.safe_for_several_processes():
        found = ".".join(map(str, driver.version()))
        logger.warning(
            "SQLite %s may damage a database that several processes use (fixed in 3.51.3); "
            "run `lamplighter doctor` for details.",
            found,
        )
    _remember_numbers(settings.home)
    with home_lock.shared(settings.home):
        database_file.refuse_lost_database(settings)
        migrate.upgrade(settings.database_url, patience=patience)
        database_file.remember(settings)


def identity(settings: Settings) -> Home:
    """Return the identity of the home; creates it at the first request."""
    path = settings.home / IDENTITY
    host = f"{socket.gethostname()}:{settings.home}"
    try:
        if not path.exists():
            made = path.with_name(f"{IDENTITY}.{os.getpid()}")
            made.write_text(f"{random_text.token_hex(IDENTITY_BYTES)}\n")
            with suppress(FileExistsError):
                os.link(made, path)  # if two processes race, the first wins
            made.unlink()
        return Home(path.read_text().strip(), host)
    except OSError as error:
        raise Unavailable(_unusable(path, error.strerror)) from error


def _remember_numbers(home: Path) -> None:
    """Reserve the session numbers that files of an earlier version use."""
    if (home / numbers.FILE).exists():
        return
    named = (path.stem.partition("-")[0] for path in (home / SESSIONS).glob("*.jsonl"))
    numbered = [int(each) for each in named if each.isdecimal()]
    if numbered:
        numbers.HighWater(home / numbers.FILE).note(max(numbered))


def write_starter(settings: Settings) -> bool:
    """Write a commented services.yaml if there is none; return whether it did."""
    from lamplighter.config import services as services_file

    try:
        return services_file.write_starter(settings.services, settings.port)
    except OSError as error:
        raise Unavailable(_unusable(settings.services, error.strerror)) from error


def engines(settings: Settings) -> "tuple[Engine, ...]":
    """Return the engines that can run sessions, whether ready or not."""
    from lamplighter.config import prices
    from lamplighter.engines.claude import ClaudeEngine
    from lamplighter.engines.exec import ExecEngine
    from lamplighter.engines.messages import MessagesEngine
    from lamplighter.engines.messages.request import AnswerLimits
    from lamplighter.engines.probe import ProbeEngine

    limits = settings.output_tokens, settings.answer_timeout, settings.thinking_tokens
    return (
        ProbeEngine(),
        ExecEngine(settings.exec_command),
        ClaudeEngine(settings.claude_bin),
        MessagesEngine(
            own=prices.active_prices(settings), answers=tuple(map(AnswerLimits, *limits))
        ),
    )


def selector(settings: Settings) -> "SentenceSelector | None":
    """Return the models that help one run of the organizer; None without any."""
    if not settings.organize_models:
        return None
    from lamplighter.config import prices
    from lamplighter.engines.messages import MessagesEngine
    from lamplighter.engines.messages.model import Model
    from lamplighter.engines.messages.request import AnswerLimits
    from lamplighter.usecases.organize.model import SentenceSelector

    if why_not := MessagesEngine().probe():
        logger.warning("The organizer works without a model. %s", why_not)
        return None
    try:
        own = prices.active_prices(settings)
    except prices.PricesError as error:
        logger.warning("The organizer works without a model. %s", error)
        return None
    limits = AnswerLimits(settings.output_tokens[0], settings.answer_timeout[0])
    return SentenceSelector(
        models=[Model(name, os.environ, limits) for name in settings.organize_models],
        dollars=settings.organize_dollars,
        prices=own,
        halted=lambda: halt_control(settings).by_file() is not None,
    )


def default_engines(settings: Settings) -> dict[int, str]:
    """Return the default engine of each tier."""
    return {
        1: settings.engine,
        2: settings.engine_tier2 or settings.engine,
        3: settings.engine_tier3 or settings.engine,
    }


def tools(settings: Settings) -> dict[int, tuple[str, ...]]:
    """Return the tools in the prompt of each tier's sessions, by its usual engine."""
    from lamplighter.engines import tool_names

    by_name = {engine.name: engine for engine in engines(settings)}
    return {
        tier: tool_names(
            by_name[name],
            tier,
            reads=bool(settings.read_roots),
            commands=tier in settings.shell_tiers,
        )
        for tier, name in default_engines(settings).items()
        if name in by_name
    }


_SECRETS: Final[dict[Path, dict[str, str]]] = {}


def secrets(settings: Settings) -> "Redactor":
    """Read the secrets of this process's environment, to mask them in every text.

    All redactors of a home share them: later settings add theirs to those in use.
    """
    from lamplighter.domain.secrets.redact import Redactor, build_redactor
    from lamplighter.serve.outbox import secrets_in

    password = password_of(settings.database_url)
    own = [("DATABASE_PASSWORD", password or ""), ("WEBHOOK_TOKEN", settings.webhook_token)]
    posts = [("NOTIFY_SECRET", part) for url in settings.notify for part in secrets_in(url)]
    tokens = [("MEMORY_TOKEN", each.memory_token) for each in settings.agents]
    known = _SECRETS.setdefault(settings.home, {})
    known |= build_redactor([*os.environ.items(), *own, *posts, *tokens]).secrets
    return Redactor(known)


def context(settings: Settings, db: Database) -> "Context":
    """Return the context of this process."""
    from lamplighter.usecases.context import Context

    return Context(db=db, now=clock.now, redact=secrets(settings))


def notification_rules(settings: Settings) -> "NoticePolicy":
    """Return which events send notices."""
    from lamplighter.domain.services.event import Level
    from lamplighter.domain.services.notice import NoticePolicy

    gather = settings.notify_digest
    return NoticePolicy(
        Level(settings.notify_level),
        None if gather is None else timedelta(seconds=gather),
        addressed=bool(settings.notify),
    )


def halt_control(settings: Settings) -> "HaltControl":
    """Return the halt control of this home."""
    from lamplighter.domain.actions import halt
    from lamplighter.usecases.sessions.halt import HaltControl

    return HaltControl(settings.home / halt.FILE, secrets(settings))


@asynccontextmanager
async def tracing(settings: Settings, part: str) -> AsyncIterator[None]:
    """Collect the spans of one of our processes, if the environment names a collector."""
    with telemetry.tracing(part, __version__, redact=secrets(settings)):
        yield


def run(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Make the home ready and do something with its database; raises Unavailable, Busy."""
    prepare(settings)
    return asyncio.run(in_database(settings, work))


async def in_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something with the database of a home that is ready; raises Busy when it is locked."""
    async with database(settings) as db:
        try:
            return await work(db)
        except (driver.OperationalError, TimeoutError) as error:
            from lamplighter.usecases.outages import describe_failed_command

            raise Busy(describe_failed_command(error)) from error


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[Database]:
    """Open the database; each commit is announced to the listeners.

    While it is open nothing is restored into the home.
    """
    with home_lock.shared(settings.home):
        async with _open_database(settings) as db:
            yield db


@asynccontextmanager
async def _open_database(settings: Settings) -> AsyncIterator[Database]:
    announcer = ChangeNotifier(run_directory(settings.home))
    db = Database(settings.database_url, announce=announcer)
    db.telling = notification_rules(settings)
    db.home = identity(settings)
    db.high_water = numbers.HighWater(settings.home / numbers.FILE)
    try:
        await db.connect()
    except driver.OperationalError as error:
        raise migrate.cannot_use(settings.database_url, error) from error
    try:
        async with db.followed():
            yield db
    finally:
        await db.disconnect()
        announcer.close()


def _unusable(path: Path, why: str | None) -> str:
    return (
        f"{path} cannot be used: {why}. Lamplighter keeps its data there; set LAMPLIGHTER_HOME "
        "to a writable directory."
    )
