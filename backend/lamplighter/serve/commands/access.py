"""The home's own token, one-time links and API tokens: with or without a server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from urllib.parse import quote

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.access.access import Token
from lamplighter.domain.errors import LamplighterError
from lamplighter.repository import Database
from lamplighter.repository.access import logins
from lamplighter.repository.store import driver
from lamplighter.serve import home
from lamplighter.serve.local import web_url
from lamplighter.serve.local.home_token import ensure_token, token_file

logger = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_SECONDS: Final = 1.0
LOGIN: Final = "Run `lamplighter login` for a login link."


def prepare(settings: Settings) -> None:
    """Make the home, its database and its token ready; raises Unavailable."""
    home.run(settings, lambda db: ensure_token(db, token_file(settings)))


def create_login_link(settings: Settings) -> str:
    """Return a new one-time link to log in by."""
    return _run(settings, lambda db: login_link(db, settings))


async def login_link(db: Database, settings: Settings) -> str:
    """Return a new one-time link to log in by."""
    from lamplighter.usecases.access import access

    code = await access.create_code(db, now=clock.now())
    return f"{web_url(settings)}/login?code={quote(code)}"


def welcome(settings: Settings) -> str:
    """Announce how to log in: a link if there is no login yet, else the command for a link.

    Raises Busy at once if the database is busy.
    """
    return asyncio.run(home.in_database(settings, lambda db: _welcome(db, settings)))


async def _welcome(db: Database, settings: Settings) -> str:
    await ensure_token(db, token_file(settings))
    if await logins.any_active(db, now=clock.now()):
        return LOGIN
    return f"Log in: {await login_link(db, settings)}   (works once, expires in an hour)"


@asynccontextmanager
async def announce_login_later(
    settings: Settings, db: Database, report: Callable[[str], None]
) -> AsyncIterator[None]:
    """Create the token and announce the login as soon as the database accepts a write."""
    async with home.running(_announce_later(settings, db, report)):
        yield


async def _announce_later(settings: Settings, db: Database, report: Callable[[str], None]) -> None:
    while True:
        try:
            report(await _welcome(db, settings))
            return
        except (driver.OperationalError, TimeoutError) as error:
            logger.log(driver.severity(error), "Cannot create a login link yet: %s", error)
        except LamplighterError as error:
            logger.error("Cannot create a login link: %s", error)
            return
        await asyncio.sleep(RETRY_SECONDS)


def create(
    settings: Settings,
    name: str,
    scopes: Sequence[str],
    *,
    days: int | None,
    agent: str | None = None,
) -> tuple[Token, str]:
    """Make a token; raises Invalid."""
    from lamplighter.usecases.access import access

    now = clock.now()
    return _run(settings, lambda db: access.mint(db, name, scopes, days=days, agent=agent, now=now))


def revoke(settings: Settings, token_id: int) -> None:
    """Revoke a token; raises NotFound."""
    from lamplighter.usecases.access import access

    now = clock.now()
    _run(settings, lambda db: access.revoke(db, token_id, now=now))


def end_logins(settings: Settings, login_id: int | None) -> int:
    """End one login, or all; return how many ended. Raises NotFound."""
    from lamplighter.usecases.access import access

    async def end(db: Database) -> int:
        now = clock.now()
        if login_id is None:
            return await access.end_other_logins(db, now=now)
        await access.end_login(db, login_id, now=now)
        return 1

    return _run(settings, end)


def _run(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something with the database of a home that has its own token."""

    async def with_token(db: Database) -> T:
        await ensure_token(db, token_file(settings))
        return await work(db)

    return home.run(settings, with_token)
