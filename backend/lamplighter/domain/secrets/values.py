"""Values after the name of a secret: their end, and the harmless ones among them."""

import re
from typing import Final

from lamplighter.domain.tables import read_table

MAX_VALUE: Final = 4096

_LISTS: Final = dict(read_table(__package__, "words.txt"))
HARMLESS_WORDS: Final = frozenset(_LISTS["value"].encode().split())
_HARMLESS: Final = re.compile(
    rb"\[REDACTED|\$(?:[A-Za-z_]|[({])|\{\{|%[({sdv]|<[^>]{0,80}>?$|!|@"
    rb"|(?:env|file|vault|op|ref\+[a-z]+|arn|secret|sops|keyring):|[a-z][a-z0-9+.-]{1,20}://"
    rb"|(.)\1{2,}$|\W{1,8}$|\.\.\.|\d{4}-\d\d-\d\d(?:\D|$)"
    rb"|[A-Za-z_][\w.]{0,80}[(\[]"
    rb"|(?:self|this|process|os|config|settings|args|env|vars?|data|local|module|secrets|options"
    rb"|request|req|params|values|Values)\.[A-Za-z_]"
)
_NUMBER: Final = re.compile(rb"[+-]?\d+(?:\.\d+)?(?:[A-Za-z%/]{0,3}|/\d{1,6})")
_PATH: Final = re.compile(rb"(?:~|\.{1,2})?(?:/[A-Za-z0-9_.@%-]{1,64})+/?|[a-z.-]+(?:/[a-z._-]+)+")
_RANDOM: Final = re.compile(rb"/(?=[^/]{0,64}[a-z])(?=[^/]{0,64}[A-Z])(?=[^/]{0,64}\d)[^/]{16}")
_REFERENCE: Final = re.compile(rb"[a-z]+(?:[-_][a-z]+){0,4}")
_SIGNS: Final = re.compile(rb"[\d!@#$%^&*_]|[a-z][A-Z]")

_UNQUOTED: Final = re.compile(
    rb"(?:[^\s\"'\\,;&<>`]|\\+(?![nrtbf\"'\\/\s])|[,;&](?![\w.-]{1,40}=|\s|$|[\"'\\]))"
    rb"{1,4096}"
)
_QUOTE: Final = re.compile(rb"(\\*)\"")
_SINGLE: Final = re.compile(rb"[^'\n]{0,400}?(?=\\*')")
_REST: Final = re.compile(rb"[ \t]*(?:\r?\n|\\+[nr]|\\*[\"']|\Z|#|,[ \t]*(?:\n|$))")


def is_path(value: bytes) -> bool:
    """Return whether a value names a file, which may contain a secret but is not one."""
    return bool(_PATH.fullmatch(value)) and not _RANDOM.search(value)


def is_harmless(value: bytes, kind: str) -> bool:
    """Return whether a value is no secret: a word, a number, a path, `$NAME`."""
    if len(value) < (3 if kind == "password" else 4) or value.lower() in HARMLESS_WORDS:
        return True
    if _NUMBER.fullmatch(value):
        return kind != "password" or len(value) < 6
    return bool(_HARMLESS.match(value)) or is_path(value)


def is_reference(value: bytes) -> bool:
    """Return whether a value consists only of words: `secret: my-tls`."""
    return bool(_REFERENCE.fullmatch(value))


def has_signs(data: bytes, start: int, end: int) -> bool:
    """Return whether a value contains a digit or a sign, which words do not."""
    return bool(_SIGNS.search(data, start, end))


def is_prose(data: bytes, start: int, end: int) -> bool:
    """Whether a value without a digit or sign is part of a sentence: `passwd: no such user`."""
    return not has_signs(data, start, end) and not _REST.match(data, end)


def value_span(data: bytes, start: int, quote: bytes) -> tuple[int, int]:
    """Return the start and end of the value that begins at `start`, after its opening quote."""
    if quote.endswith(b'"'):
        end = _quoted_end(data, start, len(quote) - 1)
        if end >= 0:
            return start, end
    if quote.endswith(b"'"):
        single = _SINGLE.match(data, start)
        if single:
            return single.span()
    bare = _UNQUOTED.match(data, start)
    if not bare:
        return start, start
    value = bare[0].rstrip(b")]}.,;:")
    return start, start + len(value)


def _quoted_end(data: bytes, start: int, level: int) -> int:
    """Find the quote that closes a string, `level` backslashes deep in JSON; else -1."""
    for quote in _QUOTE.finditer(data, start, start + MAX_VALUE):
        run = len(quote[1])
        if run % (2 * (level + 1)) == level:
            return quote.end() - 1 - level
        if run < level:  # the enclosing string ends here
            return quote.start()
    return -1
