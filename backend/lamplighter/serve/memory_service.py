"""The memory service: the contract of AgentOps alone on a port, on the database of the home."""

import ipaddress
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

import uvicorn

from lamplighter import clock
from lamplighter.api.agentops.app import create_app
from lamplighter.api.agentops.contract import Desk
from lamplighter.config.settings import Settings
from lamplighter.serve import access, home, web

logger = logging.getLogger(__name__)

LOCALHOST: Final = "localhost"


def run(
    settings: Settings, *, port: int | None = None, host: str | None = None, strict: bool = False
) -> None:
    """Serve until asked to end; raises Unavailable when the port is taken.

    On this machine alone nobody needs a token unless the settings say so; elsewhere
    everybody does.
    """
    at = replace(
        settings, host=settings.host if host is None else host, port=port or settings.memory_port
    )
    listening = web.bind(at.host, at.port, setting="LAMPLIGHTER_MEMORY_PORT")
    access.prepare(settings)
    tokens = settings.memory_tokens or not only_here(at.host)
    app = create_app(
        lambda: _desk(settings), strict=strict, tokens=tokens, hosts=access.known_hosts(at)
    )
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=web.BACKLOG,
        timeout_graceful_shutdown=web.SHUTDOWN_SECONDS,
    )
    who = "who shows a token" if tokens else "everybody on this machine"
    logger.info("The memory service listens on %s to %s", access.url(at), who)
    uvicorn.Server(config).run(sockets=[listening])


def only_here(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == LOCALHOST


@asynccontextmanager
async def _desk(settings: Settings) -> AsyncIterator[Desk]:
    async with home.tracing(settings, "memory-service"), home.database(settings) as db:
        yield Desk(
            db=db,
            now=clock.now,
            redact=home.secrets(settings),
            window=timedelta(seconds=settings.dedup_window),
            agents=settings.agents,
        )
