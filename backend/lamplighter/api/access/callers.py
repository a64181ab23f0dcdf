"""Callers: cached while no commit changed their row. On PostgreSQL each request reads the row."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from lamplighter.api.hub import Hub
from lamplighter.api.responses import problem
from lamplighter.domain.access.access import Caller, Login, Token, describe_browser, hash_secret
from lamplighter.domain.change import Change
from lamplighter.repository import Database
from lamplighter.repository.access import logins, tokens
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.access import access

logger = logging.getLogger(__name__)

NOTE_SECONDS: Final = 60.0
CHECK_SECONDS: Final = 15.0
KNOWN_SECONDS: Final = 5.0
"""How long a caller is cached at most."""

MAX_KNOWN: Final = 1_000
MAX_FAILURES: Final = 10
FAILURES_SECONDS: Final = 60.0
MAX_ADDRESSES: Final = 1_000
"""Of how many addresses wrong codes are counted; beyond, the oldest are forgotten."""

Row = tuple[object, ...]


@dataclass(slots=True)
class CachedCredential:
    """A caller as stored in the database, at a moment and at a version of the file."""

    kind: str
    credential: Token | Login
    at: float
    version: int
    row: Row | None

    def counts(self, moment: float, version: int, row: Row | None) -> bool:
        """Whether the cached caller is current, by the version of the file or by its row."""
        same = 0 <= version == self.version or (row is not None and row == self.row)
        if same:
            self.version = version
        return same and moment - self.at <= KNOWN_SECONDS


CALLER_SECONDS: Final = 10.0
"""How long the database may take to identify a caller: a server that hangs never answers."""


class Callers:
    """Identifies callers and records when each was last active."""

    def __init__(self, db: Database, now: Callable[[], datetime], hub: Hub | None = None) -> None:
        self._db, self._now, self._hub = db, now, hub
        self._known: dict[str, CachedCredential] = {}
        if hub is not None:
            hub.watchers.append(self._heed)
        self._here: dict[tuple[str, int], None] = {}
        self._came = asyncio.Event()
        self.sent_away = 0
        """How often a caller was revoked: streams that follow the feed check this count."""

    async def find(self, scope: Scope, headers: Headers) -> Caller | None:
        """Return the caller; an invalid token denies access, even with a valid cookie.

        Basic credentials belong to a proxy in front of Lamplighter and are ignored.
        """
        scheme, _, words = headers.get("authorization", "basic").partition(" ")
        if scheme.lower() == "basic":
            return self._came_by(await self.visitor(scope, headers))
        return await self.bearer(words.strip() if scheme.lower() == "bearer" else "")

    async def bearer(self, words: str) -> Caller | None:
        """Return the bearer token of a request."""
        return self._came_by(await self._identify("token", words, access.find_token))

    def _came_by(self, caller: Caller | None) -> Caller | None:
        if caller is not None:
            self._here[caller.kind, caller.id] = None
            self._came.set()
        return caller

    async def visitor(self, scope: Scope, headers: Headers) -> Caller | None:
        """Return the login that a browser's cookie shows."""
        words = cookie_parser(headers.get("cookie", "")).get(cookie_name(scope))
        return await self._identify("login", words, access.find_login) if words else None

    def send_away(self) -> None:
        """Record that a caller was revoked."""
        self.sent_away += 1

    async def _identify(
        self,
        kind: str,
        secret: str,
        find: Callable[[Database, str], Awaitable[Token | Login | None]],
    ) -> Caller | None:
        """Return the caller with these credentials, from the cache or the database.

        A cached caller is valid until the next commit to the SQLite file, and afterward while its
        row is unchanged. On PostgreSQL callers are not cached: the notification of a revocation
        reaches this process after its commit, so a request could arrive in between.
        """
        key, moment = f"{kind} {hash_secret(secret)}", time.monotonic()
        version = self._hub.version() if self._hub else -1
        entry = self._known.get(key)
        row = self._read_row(entry, version)  # read first, so never newer than the credential
        if entry is None or not entry.counts(moment, version, row):
            async with asyncio.timeout(CALLER_SECONDS):
                credential = await find(self._db, secret)
            if credential is None:
                return None
            entry = CachedCredential(kind, credential, moment, version, row)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            if version >= 0:
                self._known[key] = entry
        credential = entry.credential
        return credential.caller() if credential.living(now=self._now()) else None

    def _read_row(self, entry: CachedCredential | None, version: int) -> Row | None:
        """Return the row of a cached caller if a commit may have changed it."""
        if self._hub is None or entry is None or 0 <= version == entry.version:
            return None
        return self._hub.row_of(entry.kind, entry.credential.id)

    def _heed(self, change: Change) -> None:
        if change.entity in (tokens.ENTITY, logins.ENTITY):
            self.send_away()

    async def still(self, caller: Caller) -> bool:
        """Return whether the caller would be admitted now."""
        return await access.is_still_valid(self._db, caller, now=self._now())

    async def note(self) -> None:
        """Store when tokens and logins were last used, at most once a minute."""
        while True:
            await self._came.wait()
            self._came.clear()
            here, self._here = self._here, {}
            tokens = [number for kind, number in here if kind != "login"]
            logins = [number for kind, number in here if kind == "login"]
            try:
                await access.record_use(self._db, tokens, logins, now=self._now())
            except (Error, TimeoutError) as error:
                logger.info("Could not store when tokens and logins were last used: %s", error)
            except Exception:
                logger.exception("Could not store when tokens and logins were last used.")
            await asyncio.sleep(NOTE_SECONDS)


class AdmissionCheck:
    """Checks whether the caller of a long response would still be admitted."""

    def __init__(self, callers: Callers, caller: Caller) -> None:
        self._callers, self._caller = callers, caller
        self._looked = time.monotonic()
        self._sent_away = callers.sent_away

    async def __call__(self) -> bool:
        """Check the caller again when due, or after a revocation."""
        now, sent_away = time.monotonic(), self._callers.sent_away
        if sent_away == self._sent_away and now - self._looked < CHECK_SECONDS:
            return True
        try:
            living = await self._callers.still(self._caller)
        except (Error, TimeoutError):
            return True  # checked again on the next call
        self._looked, self._sent_away = now, sent_away
        return living


class LoginAttempts:
    """Counts wrong one-time codes by the address that sent them.

    An address that sends too many different codes in a minute is refused. A correct code is never
    refused: a flood of wrong codes cannot lock the operator out.
    """

    def __init__(self) -> None:
        self._failed: dict[str, dict[str, float]] = {}

    def failed(self, address: str, code: str) -> int:
        """Note a wrong code; return for how many seconds its address is to wait, 0 for none."""
        now = time.monotonic()
        self._forget(now)
        codes = self._failed.setdefault(address, {})
        wait = 1 + int(FAILURES_SECONDS - (now - min(codes.values(), default=now)))
        if code not in codes and len(codes) >= MAX_FAILURES:
            return wait
        codes.setdefault(code, now)
        return 0

    def _forget(self, now: float) -> None:
        for address, codes in list(self._failed.items()):
            left = {code: at for code, at in codes.items() if now - at < FAILURES_SECONDS}
            self._failed[address] = left
            if not left:
                del self._failed[address]
        while len(self._failed) > MAX_ADDRESSES:
            del self._failed[next(iter(self._failed))]


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie, with the port: browsers share cookies between ports."""
    server = scope.get("server") or ("", 0)
    return f"lamplighter-{server[1]}"


def caller_of(request: Request) -> Caller:
    """Return the caller of a request, as the guard has determined it."""
    found: Caller = request.state.caller
    return found


def check_scope(caller: Caller, scope: str) -> Response | None:
    """Return the response to a caller without a scope; None admits the caller."""
    if caller.may(scope):
        return None
    held = ", ".join(caller.scopes)
    return problem(403, f"This request needs the scope {scope}; the token has {held}.")


def actor_name(caller: Caller) -> str:
    """Return the name of a caller for the records of their acts."""
    if caller.kind == "login":
        return f"login {caller.id} ({describe_browser(caller.name)})"
    return f"the token ({caller.name})" if caller.name else "the token"


def callers_of(request: Request) -> Callers:
    """Return the cache of callers of this process."""
    found: Callers = request.app.state.callers
    return found
