"""Secrets are masked before anything is kept.

Two sources: the values of secrets we know (from the environment), longest first
so that one that begins like another is not left half open, and the shapes that
well-known services give their keys. Every pattern is linear in the text.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from lamplighter.domain.text import several_lines

MIN_SECRET_CHARS: Final = 8
_SECRET_NAME: Final = re.compile(
    r"(?:PASS|PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_KEY|CREDENTIALS?)$", re.IGNORECASE
)
_SHAPES: Final = (
    ("lamplighter-token", r"(?<![A-Za-z0-9])lamp_\d{1,18}_[A-Za-z0-9_-]{20,}"),
    ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{8,}"),
    ("openai-key", r"\bsk-(?:proj-)?[A-Za-z0-9_-]{20,}"),
    ("aws-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("google-key", r"\bAIza[A-Za-z0-9_-]{30,}"),
    # not \b: "eyJ…-eyJ…-" would make each hyphen a beginning, and the search quadratic
    ("jwt", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"),
    ("private-key", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,8000}"),
)
_AFTER: Final = (
    ("bearer", r"(\bBearer\s+)([A-Za-z0-9._~+/-]{12,}=*)"),
    ("url-password", r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:)([^\s/@\"']{1,200})(?=@)"),
    # "the password is required" is no secret: a word with a digit or a sign in it may be one
    (
        "password",
        r"(?i)(\b(?:password|passwd|pwd)\s*(?:is\s+|[:=]\s*))"
        r"((?!\[REDACTED)(?=[^\s\"',;]{0,199}[\d!@#$%^&*_])[^\s\"',;]{4,200})",
    ),
)
_COMPILED: Final = tuple((name, re.compile(shape)) for name, shape in _SHAPES)
_COMPILED_AFTER: Final = tuple((name, re.compile(shape)) for name, shape in _AFTER)
_MARKS: Final = re.compile(
    r"lamp_|sk-|AKIA|ASIA|gh[pousr]_|github_pat_|xox|AIza|eyJ|-----BEGIN|Bearer|://"
    r"|(?i:password|passwd|pwd)"
)
"""What every secret of one of the shapes has in it: for most texts one look is enough."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets in text. `known` maps each secret, in each way it is written, to its name."""

    known: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """Replace every secret by `[REDACTED:name]`."""
        for secret in sorted(self.known, key=len, reverse=True):
            if secret in text:
                text = text.replace(secret, f"[REDACTED:{self.known[secret]}]")
        if not _MARKS.search(text):
            return text
        for name, shape in _COMPILED:
            text = shape.sub(f"[REDACTED:{name}]", text)
        for name, shape in _COMPILED_AFTER:
            text = shape.sub(rf"\1[REDACTED:{name}]", text)
        return text

    def lines(self, text: str) -> str:
        """Return what is seen of a text, masked as it comes and as it is seen.

        What cannot be seen may part a secret: text of two bytes a character has a NUL in each.
        """
        return self(several_lines(self(text)))

    def masked(self, line: bytes) -> bytes:
        """Mask secrets in a raw line with as many stars, so that every offset stays true."""
        text = line.decode("utf-8", "surrogateescape")
        kept: list[str] = []
        at = 0
        for start, end in sorted(self._spans(text)):
            if end > at:
                secret = text[max(start, at) : end].encode("utf-8", "surrogateescape")
                kept += [text[at:start], "*" * len(secret)]
                at = end
        return "".join([*kept, text[at:]]).encode("utf-8", "surrogateescape")

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans = [
            (found.start(), found.end())
            for secret in self.known
            for found in re.finditer(re.escape(secret), text)
        ]
        spans += [found.span() for _, shape in _COMPILED for found in shape.finditer(text)]
        spans += [found.span(2) for _, shape in _COMPILED_AFTER for found in shape.finditer(text)]
        return spans


def redactor(environ: Iterable[tuple[str, str]]) -> Redactor:
    """Know the secrets of an environment by their names, in every way they may be written."""
    known: dict[str, str] = {}
    for name, value in environ:
        if _SECRET_NAME.search(name) and len(value) >= MIN_SECRET_CHARS:
            for how, written in _ways(value):
                known.setdefault(written, f"{name}{how}")
    return Redactor(known)


def _ways(secret: str) -> list[tuple[str, str]]:
    encoded = base64.b64encode(secret.encode("utf-8", "surrogateescape")).decode()
    return [
        ("", secret),
        (":urlencoded", quote(secret, safe="", errors="surrogateescape")),
        (":base64", encoded),
        (":json", json.dumps(secret)[1:-1]),
        (":json", json.dumps(secret, ensure_ascii=False)[1:-1]),
    ]
