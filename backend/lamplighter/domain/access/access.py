"""Access: scopes, the callers that have them, their credentials, and the browsers of people."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.fields import Field
from lamplighter.domain.text import one_line, shorten

ADMIN: Final = "admin"
DAILY: Final = (
    *("memories", "knowledge", "reviews", "events", "sessions", "cooldowns", "health", "services"),
)
RESERVED: Final = ("tokens", "settings", "approvals", "webhooks")
READ_ONLY: Final = ("context", "changes")
READS: Final = frozenset(f"{noun}:read" for noun in (*DAILY, *RESERVED, *READ_ONLY))
DAILY_WRITES: Final = frozenset(f"{noun}:write" for noun in DAILY)
RESERVED_WRITES: Final = frozenset(f"{noun}:write" for noun in RESERVED)
WEBHOOKS: Final = "webhooks:write"
"""The scope to submit alerts and nothing else, for an external monitor."""

_WIDE: Final = {
    ADMIN: READS | DAILY_WRITES | RESERVED_WRITES | {ADMIN},
    "write": READS | DAILY_WRITES,
    "read": READS,
}
SCOPES: Final = (*_WIDE, *sorted(READS | DAILY_WRITES | RESERVED_WRITES))
SESSION_SCOPES: Final = (
    "memories:read",
    "knowledge:write",
    "reviews:read",
    "events:write",
    "sessions:read",
    "services:read",
    "cooldowns:read",
    "health:read",
    "context:read",
    "changes:read",
)
"""The scopes of a session's token: read status, report events and save knowledge.

`knowledge:write` allows saving and withdrawing. Permanent deletion needs `memories:write`,
which no session has.
"""

AGENT_SCOPE: Final = "knowledge:write"
"""The default scope of an agent's token."""

MACHINE: Final = "this machine"
"""The name of the token that a home directory stores for its own commands."""

MAX_NAME_CHARS: Final = 100
MAX_DAYS: Final = 3_650
_CREDENTIAL: Final = re.compile(r"lamp_([1-9]\d{0,17})_([A-Za-z0-9_-]{20,100})", re.ASCII)
_CODE_SIGNS: Final = re.compile(r"[\s-]+")

CallerKind = Literal["login", "token", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller: a login of a person, a token of a program, or a session token."""

    kind: CallerKind
    id: int
    name: str
    scopes: tuple[str, ...]
    session_id: int | None = None
    agent: str | None = None

    @property
    def bound(self) -> bool:
        """Whether the caller is bound to a project: a session of Lamplighter, or an agent."""
        return self.session_id is not None or self.agent is not None

    @property
    def label(self) -> str:
        """The actor for the audit log; unnamed callers share one name."""
        if self.agent is not None:
            return f"agent {self.agent}, token {self.id}"
        return f"{self.kind} {self.id} ({self.name})" if self.id else self.name

    def may(self, scope: str) -> bool:
        """Whether the caller has a scope."""
        return scope in expand_scopes(self.scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A subscribed browser; `key` is the public key of the server for its messages."""

    id: int
    name: str
    host: str
    endpoint: Annotated[str, Field(public=False)]
    p256dh: Annotated[str, Field(public=False)]
    auth: Annotated[str, Field(public=False)]
    key: Annotated[str, Field(public=False)]
    login_id: Annotated[int, Field(public=False)]
    created_at: datetime
    sent_at: datetime | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token; only the hash of its secret is stored."""

    id: int
    name: str
    scopes: tuple[str, ...]
    agent: str | None = None
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    version: int
    session_id: Annotated[int | None, Field(public=False)]

    def living(self, *, now: datetime) -> bool:
        """Return whether the credential is still valid."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def caller(self) -> Caller:
        """Return the caller of this token."""
        kind: CallerKind = "token" if self.session_id is None else "session"
        return Caller(
            kind=kind,
            id=self.id,
            name=self.name,
            scopes=self.scopes,
            session_id=self.session_id,
            agent=self.agent,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login of a person, stored by one browser."""

    id: int
    agent: Annotated[str, Field(public=False)]
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    ended_at: Annotated[datetime | None, Field(public=False)]

    def living(self, *, now: datetime) -> bool:
        """Return whether the credential is still valid."""
        return self.ended_at is None and now < self.expires_at

    def caller(self) -> Caller:
        """Return the caller of this login: a person may do everything."""
        return Caller(kind="login", id=self.id, name=self.agent, scopes=(ADMIN,))


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential: the id of its row and a secret."""

    id: int
    secret: str

    def __str__(self) -> str:
        return f"lamp_{self.id}_{self.secret}"

    def fits(self, secret_hash: str) -> bool:
        """Whether the secret matches the stored hash; compares in constant time."""
        return hmac.compare_digest(hash_secret(self.secret), secret_hash)


def parse_credential(word: str) -> Credential | None:
    """Parse `lamp_<id>_<secret>`; None for anything else."""
    found = _CREDENTIAL.fullmatch(word)
    return Credential(int(found[1]), found[2]) if found else None


def hash_secret(secret: str) -> str:
    """Return the stored hash of a secret. The secret is random and long: a plain hash is safe."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def normalize_code(typed: str) -> str:
    """Return a one-time code without the spaces, dashes and capitals that a person typed."""
    return _CODE_SIGNS.sub("", typed).lower()


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return every `noun:read` and `noun:write` that these scopes include."""
    expanded: set[str] = set()
    for scope in scopes:
        expanded |= _WIDE.get(scope, {scope})
        noun, _, verb = scope.partition(":")
        if verb == "write":
            expanded.add(f"{noun}:read")
    return frozenset(expanded)


def covers(owned: Iterable[str], requested: Iterable[str]) -> bool:
    """Whether a caller with some scopes may grant others."""
    return expand_scopes(requested) <= expand_scopes(owned)


def validate_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Return scopes, each once; raises Invalid naming unknown ones."""
    names = tuple(dict.fromkeys(word.strip().lower() for word in scopes if word.strip()))
    unknown = [word for word in names if word not in SCOPES]
    if unknown:
        named = ", ".join(map(repr, unknown))
        raise Invalid(
            InvalidField(
                "scopes",
                f"must contain only known scopes, not {named}; known scopes: {', '.join(SCOPES)}",
            )
        )
    if not names:
        raise Invalid(InvalidField("scopes", f"must contain at least one of {', '.join(SCOPES)}"))
    return names


def validate_token_name(given: str) -> str:
    """Return the name of a token on one line; raises Invalid."""
    name = one_line(given)
    if len(name) > MAX_NAME_CHARS:
        raise Invalid(InvalidField("name", f"is longer than {MAX_NAME_CHARS} characters"))
    if name.startswith(MACHINE):
        raise Invalid(InvalidField("name", f"{MACHINE!r} is reserved for the home's own token"))
    return name


BROWSER_CHARS: Final = 60
UNKNOWN_BROWSER: Final = "Unknown browser"

# the order matters: most browsers also claim to be Chrome and Safari
_BROWSERS: Final = (
    ("Edge", r"\bEdg(?:e|A|iOS)?/"),
    ("Opera", r"\b(?:OPR|Opera)/"),
    ("Firefox", r"\b(?:Firefox|FxiOS)/"),
    ("Chrome", r"\b(?:Headless)?(?:Chrome|Chromium|CriOS)/"),
    ("Safari", r"\bSafari/"),
)
_SYSTEMS: Final = (
    ("Android", r"\bAndroid\b"),
    ("iOS", r"\b(?:iPhone|iPad|iPod)\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Windows", r"\bWindows\b"),
    ("macOS", r"\bMac OS X\b"),
    ("Linux", r"\bLinux\b"),
)


def describe_browser(agent: str) -> str:
    """Return `Firefox on Linux`; for an unknown browser, the beginning of its User-Agent."""
    names = [_first_match(each, agent) for each in (_BROWSERS, _SYSTEMS)]
    known = " on ".join(name for name in names if name)
    return known or shorten(one_line(agent), BROWSER_CHARS) or UNKNOWN_BROWSER


def _first_match(names: tuple[tuple[str, str], ...], agent: str) -> str:
    return next((name for name, sign in names if re.search(sign, agent)), "")
