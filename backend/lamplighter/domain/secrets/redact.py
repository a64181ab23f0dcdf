"""Masking of secrets before storage.

Two sources: the values of known secrets (from the environment), longest first, because one secret
may be the beginning of another, and the patterns of keys of well-known services. Every pattern is
linear in the text.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from urllib.parse import quote

from lamplighter.domain.secrets.names import secret_kind
from lamplighter.domain.secrets.scan import find_secrets
from lamplighter.domain.secrets.values import is_path
from lamplighter.domain.text import clean_lines

MIN_SECRET_CHARS: Final = 8
_STARS: Final = bytes(each if each in b"\r\n" else ord("*") for each in range(256))


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets in text. `secrets` maps each secret, in each of its spellings, to its name."""

    secrets: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """Replace every secret by `[REDACTED:kind]`."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            if secret in text:
                text = text.replace(secret, f"[REDACTED:{self.secrets[secret]}]")
        data = text.encode("utf-8", "surrogatepass")
        kept: list[bytes] = []
        at = 0
        for start, end, kind in find_secrets(data):
            kept += (data[at:start], _mark(kind))
            at = end
        return b"".join([*kept, data[at:]]).decode("utf-8", "surrogatepass") if at else text

    def lines(self, text: str) -> str:
        """Return the visible text, masked before and after invisible characters are removed.

        Invisible characters may split a secret: text of two bytes a character has a NUL in each.
        """
        return self(clean_lines(self(text)))

    def masked(self, data: bytes) -> bytes:
        """Mask secrets in raw lines with as many stars: offsets and line ends stay the same."""
        spans = self._spans(data)
        if not spans:
            return data
        masked, stars = bytearray(data), data.translate(_STARS)
        for start, end, _ in spans:
            masked[start:end] = stars[start:end]
        return bytes(masked)

    def marked(self, line: bytes) -> bytes:
        """Replace every secret in a raw line by its mark, before the line is truncated."""
        return self(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _spans(self, line: bytes) -> list[tuple[int, int, str]]:
        spans = find_secrets(line)
        for each, kind in tuple(self.secrets.items()):  # a copy: one may be added meanwhile
            secret = each.encode("utf-8", "surrogateescape")
            at = line.find(secret)
            while at >= 0:
                spans.append((at, at + len(secret), kind))
                at = line.find(secret, at + len(secret))
        return spans


def build_redactor(environ: Iterable[tuple[str, str]]) -> Redactor:
    """Return a redactor for the secrets of an environment by their names, in every spelling."""
    known: dict[str, str] = {}
    for name, value in environ:
        if len(value) >= MIN_SECRET_CHARS and secret_kind(name) and not _is_path(value):
            for how, written in _spellings(value):
                known.setdefault(written, f"{name}{how}")
    return Redactor(known)


@cache
def _mark(kind: str) -> bytes:
    return f"[REDACTED:{kind}]".encode()


def _spellings(secret: str) -> list[tuple[str, str]]:
    encoded = base64.b64encode(secret.encode("utf-8", "surrogateescape")).decode()
    return [
        ("", secret),
        (":urlencoded", quote(secret, safe="", errors="surrogateescape")),
        (":base64", encoded),
        (":json", json.dumps(secret)[1:-1]),
        (":json", json.dumps(secret, ensure_ascii=False)[1:-1]),
    ]


def _is_path(value: str) -> bool:
    return is_path(value.encode("utf-8", "surrogateescape"))
