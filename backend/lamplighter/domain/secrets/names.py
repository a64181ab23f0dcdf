"""Names of secrets: one table for variables, keys, options and headers."""

import re
from functools import lru_cache
from typing import Final

from lamplighter.domain.tables import read_table

_KIND_WORDS: Final = {
    "password": ("password", "passwort", "passwd", "passphrase", "passcode", "passwords", "pwd"),
    "secret": ("secret", "secrets"),
    "token": ("token", "tokens"),
    "credential": ("credential", "credentials"),
    "key": ("apikey", "accesskey", "secretkey", "privatekey", "presharedkey", "authkey"),
}
"""Words that make any name that of a secret, also at the end of a word: PGPASSWORD, authtoken."""

_WHOLE: Final = {
    "pass": "password",
    **dict.fromkeys(("dbpass", "sqlpass", "smtppass", "mailpass", "userpass"), "password"),
    **dict.fromkeys(("rootpass", "adminpass", "requirepass", "masterauth"), "password"),
    **dict.fromkeys(("psk", "cookie", "auth"), "credential"),
}
"""Words that mark a secret only as a whole part of a name: "auth" and "cookie" only as its last."""

_LAST_ONLY: Final = frozenset(("auth", "cookie", "pass"))

_KEYS: Final = (
    *("api", "access", "private", "secret", "auth", "account", "encryption", "signing", "master"),
    *("shared", "app", "application", "license", "storage", "preshared", "unseal", "recovery"),
    *("service", "consumer", "client", "deploy", "session", "cipher", "crypt", "hmac", "root"),
    "gotify",
)
"""Words before the word "key" that make the name that of a secret."""

_HARMLESS_ENDS: Final = frozenset(dict(read_table(__package__, "words.txt"))["name_end"].split())
"""Last parts of names that describe a secret without containing one: PASSWORD_FILE, token_count."""

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4096)
def secret_kind(name: str) -> str:
    """Return the kind of secret that a name denotes: password, secret, token, key …; else empty."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    worded = [part for part in parts if not part.isdigit()]
    if not worded or (worded[-1] in _HARMLESS_ENDS and worded[-2:] != ["secret", "id"]):
        return ""
    for at, part in enumerate(worded):
        kind = _part_kind(part, worded[at - 1] if at else "", last=at == len(worded) - 1)
        if kind:
            return kind
    return ""


def _part_kind(part: str, before: str, *, last: bool) -> str:
    if part in ("key", "keys") and before in _KEYS:
        return "key"
    if part in _WHOLE:
        return _WHOLE[part] if last or part not in _LAST_ONLY else ""
    return next((kind for kind, words in _KIND_WORDS.items() if part.endswith(words)), "")


def _alternatives(*, without: str = "") -> str:
    words = [word for kind, each in _KIND_WORDS.items() if kind != without for word in each]
    return "|".join(
        (
            *sorted({*words, *_WHOLE}, key=len, reverse=True),
            rf"(?:{'|'.join(_KEYS)})[_.-]?keys?",
        )
    )


ANY_WORD: Final = rf"(?i:{_alternatives()})"
"""Matches each text that `secret_kind` may classify as a secret, and more."""

COUNTED: Final = "(?i:tokens?)"
UNCOUNTED: Final = rf"(?i:{_alternatives(without='token')})"
"""The same in two parts: words that are often counted (`"output_tokens": 512`), and the others."""
