"""The memory service: the contract of AgentOps alone on a port, on the database of the home."""

import ipaddress
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from lamplighter import clock
from lamplighter.api.agentops.app import create_app
from lamplighter.api.context import MemoryServiceContext
from lamplighter.config.settings import Settings
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.serve import home, web
from lamplighter.serve.commands import access
from lamplighter.serve.configuration import build_configuration
from lamplighter.serve.editing.live import follow_settings
from lamplighter.serve.indexing import following, indexing
from lamplighter.serve.local import known_hosts, web_url
from lamplighter.serve.semantic.service import semantic_service

logger = logging.getLogger(__name__)

LOCALHOST: Final = "localhost"


def run(
    settings: Settings, *, port: int | None = None, host: str | None = None, strict: bool = False
) -> None:
    """Serve until a signal; raises Unavailable if the port is taken.

    On loopback no token is needed unless the settings require one; elsewhere every request needs
    one.
    """
    at = replace(settings, host=host or settings.host, port=port or settings.memory_port)
    listening = web.bind(at.host, at.port, setting="LAMPLIGHTER_MEMORY_PORT")
    home.prepare(settings, patience=home.SERVER_WAIT_SECONDS)
    access.prepare(settings)
    tokens = wants_tokens(at)
    app = create_app(
        lambda: _service_context(settings),
        strict=strict,
        tokens=tokens,
        hosts=known_hosts(at),
    )
    who = "clients with a token" if tokens else "all users of this machine"
    signal.signal(signal.SIGTERM, _end)
    logger.info("The memory service listens on %s for %s", web_url(at), who)
    web.serve(app, listening)


def wants_tokens(settings: Settings) -> bool:
    """Return whether a token is required: always when other machines can connect."""
    return settings.memory_tokens or not _is_loopback(settings.host)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == LOCALHOST


def _end(number: int, frame: object) -> None:
    """Exit with status 0: the server has ended, and raises the signal again."""
    sys.exit(0)


@asynccontextmanager
async def _service_context(settings: Settings) -> AsyncIterator[MemoryServiceContext]:
    active = build_configuration(settings, builtin_lexicon())  # not used by this contract
    async with (
        home.tracing(settings, "memory-service"),
        home.database(settings) as db,
        semantic_service(settings, db) as means,
        indexing(db),
        following(db),
        follow_settings(settings, db, active).following(),
    ):
        yield MemoryServiceContext(
            db=db,
            now=clock.now,
            redact=home.secrets(settings),
            active=active,
            near=means.answers,
        )
