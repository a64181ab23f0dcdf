"""Positions of secrets in a text: one scan finds candidates, an inspection decides.

The scan is linear in the text. Each candidate is short, and its inspection too.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

import re2

from lamplighter.domain.secrets.names import ANY_WORD, COUNTED, UNCOUNTED, secret_kind
from lamplighter.domain.secrets.prefixes import Prefix, find_prefix
from lamplighter.domain.secrets.runs import NAME_CHARS, RUNS, Name, read_run
from lamplighter.domain.secrets.values import (
    HARMLESS_WORDS,
    has_signs,
    is_harmless,
    is_prose,
    is_reference,
    value_span,
)
from lamplighter.domain.tables import read_table

_NAME_CHARS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LONGEST: Final = 16_384
MAX_MEMORY_BYTES: Final = 12 << 20
"""The memory limit of RE2 for a pattern and its states; RE2 drops the states at the limit."""
SHAPES: Final = read_table(__package__, "shapes.txt")
"""The shapes of well-known secrets: kinds and their RE2 patterns.

A group contains the secret if surrounding text identifies it; otherwise the whole match is the
secret. A part that may be long comes last in its pattern, which keeps the search linear. Order
matters: specific patterns come before general ones.
"""

_QUOTES: Final = r"(?:\\{0,7}[\"']){0,1}"
_BLANK: Final = r" \t\n\f\r"
_VALUE_KEY: Final = (
    rf"{_QUOTES},?(?:[{_BLANK}]|\\{{1,3}}n){{0,40}}"
    rf"{_QUOTES}(?i:value){_QUOTES}[ \t]{{0,8}}[:=][ \t]{{0,8}}"
)
_ASSIGN: Final = rf"(?:{_QUOTES}\]?[ \t]{{0,20}}(?::=|=>|=|:)[ \t]{{0,20}}|>|{_VALUE_KEY})"
_NAMED: Final = rf"{UNCOUNTED}[A-Za-z0-9_.-]{{0,40}}{_ASSIGN}"
_COUNTED: Final = (
    rf"{COUNTED}[A-Za-z0-9_.-]{{0,40}}{_ASSIGN}(?:[^0-9 \t]|[0-9.]{{1,40}}[^0-9.{_BLANK},;}}\])\\])"
)
_OPTION: Final = (
    rf"--[A-Za-z0-9-]{{0,30}}{ANY_WORD}[A-Za-z0-9-]{{0,20}}(?:{_QUOTES},[ \t]?|[ \t]{{1,3}})"
)
_MARK: Final = r"\[REDACTED"
_MARK_FORM: Final = re.compile(rf"{_MARK}[A-Za-z0-9_.: -]{{0,200}}\]".encode())
_NAMED_FORM: Final = re.compile(
    rf"(?P<name>{ANY_WORD}[A-Za-z0-9_.-]{{0,40}})(?P<sep>{_ASSIGN})(?P<quote>\\{{0,7}}[\"'])?".encode()
)
_CANDIDATE: Final = re.compile(rf"{_NAMED}|{_COUNTED}".encode())
_COUNT: Final = re.compile(
    rf"(?:\\?[\"'])? {{0,20}}+[=:] {{0,20}}+[0-9.]{{1,40}}+[{_BLANK},;}}\])\\]".encode()
)
"""A number after a name that `_COUNTED` certainly does not match: `tokens: 512,`."""
_RUN: Final = re.compile(rf"[{NAME_CHARS}]{{2}}".encode())
_CAMEL: Final = re.compile(rb"[a-z][A-Z]")
_OPTION_FORM: Final = re.compile(
    rf"--(?P<name>[A-Za-z0-9-]{{0,30}}{ANY_WORD}[A-Za-z0-9-]{{0,20}})"
    rf"(?P<sep>{_QUOTES},[ \t]?|[ \t]{{1,3}})(?P<quote>\\{{0,7}}[\"'])?".encode()
)
_ESCAPES: Final = ((b"\\n", b" \n"), (b"\\r", b" \r"), (b"\\t", b" \t"))
_COLOR: Final = re.compile(rb"(?:\x1b|\\{1,4}(?:u001b|x1b|033))\[[0-9;]{0,20}[A-Za-z]")
_WORDY: Final = re.compile(rb"[A-Za-z]{0,7}|-.*", re.DOTALL)


_BARE: Final = frozenset(("secret", "secrets", "token", "credential", "credentials", "auth"))
"""Names that refer to a secret by its name, if only words follow them."""


NEAR: Final = 256
"""The longest text without the name of a secret that is read run by run."""


class Secret(NamedTuple):
    """The position of a secret in the bytes of a text, and its kind."""

    start: int
    end: int
    kind: str


def find_secrets(data: bytes) -> list[tuple[int, int, str]]:
    """Return the secrets of a text by their names and patterns, in order, without overlaps."""
    scan = _Scan(_blank_escapes(data))
    scan.read_all()
    return scan.secrets


@dataclass(slots=True)
class _Scan:
    """One scan of a text: the secrets up to `at`, and the next candidate that is not a name."""

    data: bytes
    secrets: list[tuple[int, int, str]] = field(default_factory=list)
    at: int = 0
    other: int = -1

    def read_all(self) -> None:
        """Search the text for candidates; the names close to each are read run by run."""
        find = _scan_pattern().search
        while found := find(self.data, self.at):
            start = found.start()
            self._add(_inspect(self.data, start, self._after()))
            if _CANDIDATE.match(self.data, start) and not _RUN.match(self.data, self.at - 1):
                self._read_runs()

    def _after(self) -> int:
        return self.secrets[-1][1] if self.secrets else 0

    def _add(self, result: "ScanResult") -> None:
        secret, self.at = result
        if secret:
            while self.at < len(self.data) and self.data[self.at] & 0xC0 == 0x80:
                self.at += 1  # never split a character
            self.secrets.append((secret.start, self.at, secret.kind))

    def _read_runs(self) -> None:
        """Read names and their values, up to a text without names."""
        near = self.at + NEAR
        for match in RUNS.finditer(self.data, self.at):
            name = read_run(match[1])
            if not name or (name.counted and self._is_count(name, match.end())):
                if match.end() > near or match[1] is None:
                    return self._stop_at(match.end())
                continue
            begin = match.start(1)
            near = begin + NEAR
            if self.other <= match.end() or begin < self.at:
                self._read_name(begin, name)
            elif name.kind:
                start, end = match.span(3)
                if end < 0:
                    self._read_word(match, begin, name)
                else:
                    self.secrets.append((start, end, name.kind))
                    self.at = end
        return None

    def _is_count(self, name: Name, end: int) -> bool:
        return len(name.offsets) == 1 and _COUNT.match(self.data, end) is not None

    def _stop_at(self, end: int) -> None:
        """Continue with the search after a text without names, or at another candidate in it."""
        self._inspect_others(self.at - 1)
        self.at = min(max(self.at, end), self.other)

    def _read_word(self, match: "re.Match[bytes]", begin: int, name: Name) -> None:
        """Read the value of a name that may be a harmless word."""
        start, end = match.span(4)
        word = self.data[start:end]
        if word.lower() in HARMLESS_WORDS:
            return
        if _CAMEL.search(word):
            self.secrets.append((start, end, name.kind))
            self.at = end
        else:
            self._read_name(begin, name)

    def _inspect_others(self, end: int) -> None:
        """Inspect the candidates that are no names, up to a position, and find the next one."""
        while self.other <= end or self.other < self.at:
            if self.other >= self.at:
                self._add(_inspect(self.data, self.other, self._after()))
            found = _others_pattern().search(self.data, self.at)
            self.other = found.start() if found else len(self.data) + 1

    def _read_name(self, begin: int, name: Name) -> None:
        """Inspect the words of a name in their order, and what else begins before each."""
        for offset in name.offsets:
            start = begin + offset
            self._inspect_others(start)
            if start >= self.at and (not name.counted or _CANDIDATE.match(self.data, start)):
                self._add(_scan_name(self.data, start, 0) or (None, self.at))


def _blank_escapes(data: bytes) -> bytes:
    """Return the text with white space for each escaped line end and color, of the same length.

    A word may begin after an escape: the last letter of the escape would hide the word boundary.
    """
    escaped = b"\\" in data
    if not escaped and b"\x1b" not in data:  # most lines; both tests are cheap
        return data
    for escape, space in _ESCAPES if escaped else ():
        data = data.replace(escape, space)
    if b"[" in data and (b"\x1b" in data or b"1b[" in data or b"033[" in data):
        data = _COLOR.sub(lambda found: b" " * len(found[0]), data)
    return data


ScanResult = tuple[Secret | None, int]
"""A secret, or None, and the position at which the search continues."""


def _scan_mark(data: bytes, start: int, _after: int) -> ScanResult | None:
    found = _MARK_FORM.match(data, start)
    return found and (None, found.end())


def _scan_name(data: bytes, start: int, _after: int) -> ScanResult | None:
    match = _NAMED_FORM.match(data, start)
    if not match:
        return None
    before = data[max(0, start - 60) : start]
    name = (before[len(before.rstrip(_NAME_CHARS)) :] + match["name"]).decode("ascii")
    kind = secret_kind(name)
    begin, end = value_span(data, match.end(), match["quote"] or b"")
    if kind and not is_harmless(data[begin:end], kind) and _is_assigned(data, match, name, end):
        return Secret(begin, end, kind), end
    return None, match.end("name")  # another pattern may begin at the equal sign


def _is_assigned(data: bytes, match: "re.Match[bytes]", name: str, end: int) -> bool:
    """Return whether a name has this value: not a part of a sentence, no missing closing tag."""
    if match["sep"] == b">":
        return data.startswith(b"</", end)
    if match["quote"] or b":" not in match["sep"]:
        return True
    begin = match.end()
    return not is_prose(data, begin, end) and not (name in _BARE and is_reference(data[begin:end]))


def _scan_option(data: bytes, start: int, _after: int) -> ScanResult | None:
    match = _OPTION_FORM.match(data, start)
    if not match:
        return None
    kind = secret_kind(match["name"].decode("ascii"))
    begin, end = value_span(data, match.end(), match["quote"] or b"")
    value = data[begin:end]
    if not kind or is_harmless(value, kind) or _WORDY.fullmatch(value):
        return None, match.end("name")
    return Secret(begin, end, kind), end


def _scan_shape(data: bytes, start: int, after: int) -> ScanResult:
    for index in sorted(_prefix_set().Match(data[start : start + _LONGEST]) or ()):
        kind, pattern = SHAPES[index][0], _shape(index)
        group = min(1, pattern.groups)
        begin = _begin(data, start, 0 if group else after, _prefixes()[index])
        found = None if begin is None else pattern.match(data, begin, start + _LONGEST)
        if found:
            begin, end = found.span(group)
            if not group or _is_beside(data, begin, end, kind):
                return Secret(begin, end, kind), end
    return None, start + 1


def _begin(data: bytes, start: int, after: int, before: Prefix) -> int | None:
    """Return the start of a shape with its prefix at `start` and its lead not before `after`."""
    if not before.lead:
        return start
    first = max(after, start - before.lead_length)
    margin = min(1, first)  # the word boundary depends on the preceding character
    found = _lead(before.lead).search(data[first - margin : start], margin)
    return found and first - margin + int(found.start())


def _is_beside(data: bytes, begin: int, end: int, kind: str) -> bool:
    """Whether the text after a name is a secret: "the password is required" is not."""
    if is_harmless(data[begin:end], "password"):
        return False
    return kind != "password" or has_signs(data, begin, end)


def _inspect(data: bytes, start: int, after: int) -> ScanResult:
    """Inspect a match of the scan: a mark of Lamplighter, a name with its value, or a shape."""
    resume_at = start + 1
    for form in _FORMS.get(data[start], _OTHERS):
        secret, at = form(data, start, after) or (None, start)
        resume_at = max(resume_at, at)
        if secret or (form is _scan_mark and at > start):
            return secret, at
    return None, resume_at


_OTHERS: Final = (_scan_name, _scan_shape)
_FORMS: Final = {ord("["): (_scan_mark, _scan_shape), ord("-"): (_scan_option, _scan_shape)}
"""The forms that may begin with a character."""


def _options(*, capture: bool) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.never_capture = not capture
    options.max_mem = MAX_MEMORY_BYTES
    return options


@cache
def _scan_pattern() -> Any:
    """Return the pattern of all candidates for secrets."""
    return _any_of(_NAMED, _COUNTED, _others_pattern().pattern.decode())


@cache
def _others_pattern() -> Any:
    """Return the pattern of the candidates that are no names with a value."""
    return _any_of(_MARK, _OPTION, *(f"(?:{each.pattern})" for each in _prefixes()))


def _any_of(*patterns: str) -> Any:
    return re2.compile("|".join(patterns).encode(), _options(capture=False))


@cache
def _prefix_set() -> Any:
    """Return the set that finds the shapes whose prefixes are at the beginning of a text."""
    shapes = re2.Set.MatchSet(_options(capture=False))
    for each in _prefixes():
        shapes.Add(each.pattern.encode())
    shapes.Compile()
    return shapes


@cache
def _prefixes() -> tuple[Prefix, ...]:
    return tuple(find_prefix(pattern) for _, pattern in SHAPES)


@cache
def _shape(index: int) -> Any:
    """Return the whole pattern of a shape, compiled when a text has its prefix."""
    return re2.compile(SHAPES[index][1].encode(), _options(capture=True))


@cache
def _lead(pattern: str) -> Any:
    return re2.compile(rf"{pattern}\z".encode(), _options(capture=False))
