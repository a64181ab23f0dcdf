"""Logins, ended by their own browser or from another one."""

from collections.abc import Callable
from datetime import datetime

from lamplighter.domain.access.access import Login
from lamplighter.domain.access.browser import describe_browser
from lamplighter.domain.errors import NotFound
from lamplighter.repository import Database, writing
from lamplighter.repository.access import logins
from lamplighter.usecases.access.recording import record_act


async def log_out(db: Database, login_id: int, *, now: datetime) -> None:
    """End a login; its devices receive no more notifications."""
    async with writing(db):
        await logins.end(db, login_id, now=now)


async def end(db: Database, login_id: int, *, now: datetime) -> None:
    """End the login of another browser; raises NotFound if there is none or it has ended."""
    if not await _end(db, lambda login: login.id == login_id, now=now):
        raise NotFound(f"Active login {login_id} not found.")


async def end_others(db: Database, *, but: int | None = None, now: datetime) -> int:
    """End every login except `but`, and return how many ended."""
    return await _end(db, lambda login: login.id != but, now=now)


async def _end(db: Database, ends: Callable[[Login], bool], *, now: datetime) -> int:
    async with writing(db):
        ended = [login for login in await logins.list_active(db, now=now) if ends(login)]
        for login in ended:
            await logins.end(db, login.id, now=now)
            await record_act(
                db, "revoke", f"login {login.id}, {describe_browser(login.agent)}", now=now
            )
    return len(ended)
