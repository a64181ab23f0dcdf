"""The web process: the API, the change feed and the app."""

import errno
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette

from lamplighter import assets, clock
from lamplighter.api.app import create_app
from lamplighter.api.connection import KEEP_SECONDS, TimedConnection, WebServer
from lamplighter.api.context import ApiContext
from lamplighter.api.hub import Hub
from lamplighter.config import lexicon
from lamplighter.config.settings import Settings
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Busy, Unavailable
from lamplighter.mcp.endpoint import Endpoint
from lamplighter.repository import Database
from lamplighter.repository.feed.signals import create_listener
from lamplighter.repository.store.driver import Error
from lamplighter.serve import clients, home
from lamplighter.serve.active_settings import ActiveSettings
from lamplighter.serve.checkup.health import HealthMonitor
from lamplighter.serve.commands import access
from lamplighter.serve.configuration import build_configuration
from lamplighter.serve.editing.live import LiveSettings, follow_settings
from lamplighter.serve.editing.sources import build_context
from lamplighter.serve.indexing import following, indexing
from lamplighter.serve.local import known_hosts, run_directory, web_url
from lamplighter.serve.local.server import command_server
from lamplighter.serve.notebook.service import notebook_context, notebook_upkeep
from lamplighter.serve.push.keys import PushKey
from lamplighter.serve.queries import QueryContext
from lamplighter.serve.semantic.service import SemanticService, semantic_service
from lamplighter.serve.services_file import ServicesFile
from lamplighter.serve.verify.tools import build_tools
from lamplighter.usecases.configuration.changes import settle
from lamplighter.usecases.configuration.context import ConfigurationContext

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 2
BACKLOG: Final = 2048
STALLED_SECONDS: Final = 20.0


def run(settings: Settings, *, welcome: Callable[[str], None] | None = None) -> None:
    """Serve until a signal; raises Unavailable if the port is taken.

    `welcome` announces how to log in.
    """
    listening = bind(settings.host, settings.port)
    active = build_configuration(settings, lexicon.active_lexicon(settings))
    home.prepare(settings, patience=home.SERVER_WAIT_SECONDS)
    _write_starter(settings)
    busy = _greet(settings, welcome)
    later = (welcome or (lambda words: None)) if busy else None
    endpoint = Endpoint()
    app = create_app(
        lambda: _greeting(settings, _open_context(settings, active, endpoint), later),
        web_directory=assets.WEB,
        hosts=known_hosts(settings),
        mcp=endpoint,
    )
    logger.info("Listening on %s", web_url(settings))
    serve(app, listening)


def serve(app: Starlette, listening: socket.socket) -> None:
    """Serve an app on a socket until a signal."""
    config = uvicorn.Config(
        app,
        http=TimedConnection,
        timeout_keep_alive=KEEP_SECONDS,
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    WebServer(config).run(sockets=[listening])


def _greet(settings: Settings, report: Callable[[str], None] | None) -> bool:
    """Announce the login if requested; return whether the database is too busy."""
    try:
        if report is None:
            access.prepare(settings)
        else:
            report(access.welcome(settings))
    except Busy as error:
        logger.warning("%s Read-only until then.", error)
        return True
    return False


def _write_starter(settings: Settings) -> None:
    """Write services.yaml as the supervisor would: the preview then equals the first prompt."""
    try:
        home.write_starter(settings)
    except Unavailable as error:
        logger.warning("%s", error)


def bind(host: str, port: int, *, setting: str = "LAMPLIGHTER_PORT") -> socket.socket:
    """Bind the port; raises Unavailable naming the process that may hold it, and the setting."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # otherwise stalled clients would stay connected
        milliseconds = round(STALLED_SECONDS * 1_000)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # only listen() detects another bound socket
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            message = (
                f"Port {port} on {host} is in use, possibly by another Lamplighter. "
                f"Set {setting} to a free one."
            )
            raise Unavailable(message) from error
        raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listening


@asynccontextmanager
async def _greeting(
    settings: Settings,
    opening: AbstractAsyncContextManager[ApiContext],
    report: Callable[[str], None] | None,
) -> AsyncIterator[ApiContext]:
    """Open the context; an announcement that failed at the start is repeated when possible."""
    async with opening as here:
        later = access.announce_login_later(settings, here.db, report) if report else nullcontext()
        async with later:
            yield here


def _query_context(
    settings: Settings, db: Database, services: ServicesFile, means: SemanticService
) -> QueryContext:
    return QueryContext(settings, db, lambda: services, lambda: nullcontext(means.near))


@asynccontextmanager
async def _open_context(
    settings: Settings, active: Configuration, endpoint: Endpoint
) -> AsyncIterator[ApiContext]:
    verification = build_tools(settings, services := ServicesFile(settings.services))
    async with (
        home.tracing(settings, "web"),
        home.database(settings) as db,
        notebook_upkeep(
            notebook := notebook_context(settings, home.context(settings, db), services)
        ),
        semantic_service(settings, db) as means,
        endpoint.open(
            clients.client_context(
                home.context(settings, db),
                active,
                services.last_good,
                near=means.answers,
                verification=verification,
            )
        ),
        create_listener(settings.database_url, run_directory(settings.home)) as listener,
        indexing(db),
        following(db, services.last_good),
        (live := follow_settings(settings, db, active)).following(),
        command_server(_query_context(settings, db, services, means)),
    ):
        hub, files = Hub(db, listener), await _build_files(settings, db)
        health = HealthMonitor(settings, db, hub, clock.now, means)
        live.appliers.append(health.use)
        yield ApiContext(
            db=db,
            hub=hub,
            health=health,
            settings=_active_settings(live, services, active, db, files),
            configuration=files,
            now=clock.now,
            redact=home.secrets(settings),
            active=active,
            services=services.last_good,
            problems=services.problems,
            services_path=str(settings.services),
            session_files=settings.home / home.SESSIONS,
            engines=home.engines(settings),
            tools=home.tools(settings),
            halt_control=home.halt_control(settings),
            verification=verification,
            near=means.answers,
            notebook=notebook,
            device_key=partial(PushKey(settings.home).public, make=True),
        )


async def _build_files(settings: Settings, db: Database) -> ConfigurationContext:
    """Return the context for edits of the configuration; settle edits of a killed process."""
    files = build_context(settings)
    with suppress(Error, TimeoutError):  # the next start settles them
        await settle(home.context(settings, db), files)
    return files


def _active_settings(
    live: LiveSettings,
    services: ServicesFile,
    active: Configuration,
    db: Database,
    files: ConfigurationContext,
) -> ActiveSettings:
    return ActiveSettings(
        files=files,
        live=live,
        services=services,
        lexicon=active.lexicon,
        db=db,
        redact=home.secrets(live.current),
        started_at=clock.now(),
    )


def accepts_connections(settings: Settings) -> bool:
    """Whether something accepts connections there."""
    host = urlsplit(web_url(settings)).hostname
    with suppress(OSError), socket.create_connection((host, settings.port), timeout=0.5):
        return True
    return False
