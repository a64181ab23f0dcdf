"""Access: one-time codes become logins, tokens are created and revoked, callers are identified.

Secrets are created here and returned once; only their hashes are stored.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from lamplighter.domain.access.access import (
    ADMIN,
    MACHINE,
    SESSION_SCOPES,
    Caller,
    Credential,
    Login,
    Token,
    describe_browser,
    hash_secret,
    normalize_code,
    parse_credential,
    validate_scopes,
    validate_token_name,
)
from lamplighter.domain.clients.agent import validate_agent_name
from lamplighter.domain.errors import NotFound
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.access import logins, tokens
from lamplighter.usecases.access.recording import record_act

CODE_LIFE: Final = timedelta(hours=1)
LOGIN_LIFE: Final = timedelta(days=30)
MAX_AGENT_CHARS: Final = 200
SECRET_BYTES: Final = 32
CODE_SIGNS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
CODE_GROUPS: Final = 4
CODE_GROUP_SIGNS: Final = 4

T = TypeVar("T")
MintedToken = tuple[Token, str]


async def mint(
    db: Database,
    name: str,
    scopes: Sequence[str],
    *,
    days: int | None = None,
    agent: str | None = None,
    now: datetime,
) -> MintedToken:
    """Create a token and return it with its secret, which is shown once; raises Invalid.

    A token with an `agent` identifies its caller as that agent, whatever name the caller claims.
    """
    expires_at = None if days is None else now + timedelta(days=days)
    async with writing(db):
        token, secret = await _mint(
            db,
            validate_token_name(name),
            validate_scopes(scopes),
            expires_at=expires_at,
            agent=None if agent is None else validate_agent_name(agent),
            now=now,
        )
        await record_act(db, "token", _named(token), now=now)
        return token, secret


async def mint_for_machine(db: Database, home: str, *, now: datetime) -> MintedToken:
    """Create the token of a home's own commands; the previous one is revoked.

    `home` distinguishes this token from those of other homes on the same database.
    """
    name = f"{MACHINE}: {one_line(home)}"
    async with writing(db):
        await tokens.revoke_named(db, name, now=now)
        return await _mint(db, name, (ADMIN,), now=now)


async def mint_for_session(
    db: Database, session: Session, *, expires_at: datetime, now: datetime
) -> str:
    """Create the token of a session and return its credential; the token ends with the session."""
    _, secret = await _mint(
        db,
        f"session {session.id}",
        SESSION_SCOPES,
        session_id=session.id,
        expires_at=expires_at,
        now=now,
    )
    return secret


async def revoke(db: Database, token_id: int, *, now: datetime) -> Token:
    """Revoke a token; raises NotFound if there is no such token or it is already revoked."""
    async with writing(db):
        token = await tokens.revoke(db, token_id, now=now)
        if token is None:
            raise NotFound(f"Active token {token_id} not found.")
        await record_act(db, "revoke", _named(token), now=now)
        return token


def _named(token: Token) -> str:
    return f"token {token.id}, {token.name}"


async def authenticate_token(db: Database, words: str, *, now: datetime) -> Caller | None:
    """Return the caller of a token; None if it grants no access."""
    found = await find_token(db, words)
    return found.caller() if found is not None and found.living(now=now) else None


async def find_token(db: Database, words: str) -> Token | None:
    """Return the token with this secret, even if it is revoked or expired."""
    return await _find(db, words, tokens.get_with_hash)


async def find_login(db: Database, words: str) -> Login | None:
    """Return the login with this secret, even if it is revoked or expired."""
    return await _find(db, words, logins.get_with_hash)


async def _find(
    db: Database, words: str, get: Callable[[Database, int], Awaitable[tuple[T, str] | None]]
) -> T | None:
    shown = parse_credential(words)
    found = await get(db, shown.id) if shown else None
    return found[0] if shown and found and shown.fits(found[1]) else None


async def is_still_valid(db: Database, caller: Caller, *, now: datetime) -> bool:
    """Whether a caller who was authenticated earlier still has access."""
    if caller.kind == "login":
        login = await logins.get_with_hash(db, caller.id)
        return login is not None and login[0].living(now=now)
    token = await tokens.get_with_hash(db, caller.id)
    return token is not None and token[0].living(now=now)


async def create_code(db: Database, *, now: datetime) -> str:
    """Create a one-time code for a login; earlier unused ones become invalid."""
    groups = [
        "".join(secrets.choice(CODE_SIGNS) for _ in range(CODE_GROUP_SIGNS))
        for _ in range(CODE_GROUPS)
    ]
    async with writing(db):
        await logins.expire_codes(db, now=now)
        kept = hash_secret("".join(groups))
        await logins.insert_code(db, kept, expires_at=now + CODE_LIFE, now=now)
    return "-".join(groups)


async def redeem(db: Database, code: str, agent: str, *, now: datetime) -> str | None:
    """Exchange a code for a login and return its credential; None if the code is not usable."""
    secret, code_hash = secrets.token_urlsafe(SECRET_BYTES), hash_secret(normalize_code(code))
    if not await logins.is_usable(db, code_hash, now=now):
        return None  # a read: wrong codes never block writers
    async with writing(db):
        if not await logins.use_code(db, code_hash, now=now):
            return None
        login = await logins.insert(
            db,
            hash_secret(secret),
            shorten(one_line(agent), MAX_AGENT_CHARS),
            expires_at=now + LOGIN_LIFE,
            now=now,
        )
    return str(Credential(login.id, secret))


async def log_out(db: Database, login_id: int, *, now: datetime) -> None:
    """End a login; its devices receive no more notifications."""
    async with writing(db):
        await logins.end(db, login_id, now=now)


async def end_login(db: Database, login_id: int, *, now: datetime) -> None:
    """End the login of another browser; raises NotFound if there is none or it has ended."""
    if not await _end_logins(db, lambda login: login.id == login_id, now=now):
        raise NotFound(f"Active login {login_id} not found.")


async def end_other_logins(db: Database, *, but: int | None = None, now: datetime) -> int:
    """End every login except `but`, and return how many ended."""
    return await _end_logins(db, lambda login: login.id != but, now=now)


async def _end_logins(db: Database, ends: Callable[[Login], bool], *, now: datetime) -> int:
    async with writing(db):
        ended = [login for login in await logins.list_active(db, now=now) if ends(login)]
        for login in ended:
            await logins.end(db, login.id, now=now)
            await record_act(
                db, "revoke", f"login {login.id}, {describe_browser(login.agent)}", now=now
            )
    return len(ended)


async def record_use(
    db: Database, token_ids: Sequence[int], login_ids: Sequence[int], *, now: datetime
) -> None:
    """Record the last use of tokens and logins."""
    async with writing(db):
        if token_ids:
            await tokens.record_use(db, token_ids, now=now)
        if login_ids:
            await logins.record_use(db, login_ids, now=now)


async def _mint(
    db: Database,
    name: str,
    scopes: Sequence[str],
    *,
    session_id: int | None = None,
    expires_at: datetime | None = None,
    agent: str | None = None,
    now: datetime,
) -> MintedToken:
    secret = secrets.token_urlsafe(SECRET_BYTES)
    async with writing(db):
        token = await tokens.insert(
            db,
            name,
            scopes,
            hash_secret(secret),
            session_id=session_id,
            expires_at=expires_at,
            agent=agent,
            now=now,
        )
    return token, str(Credential(token.id, secret))
