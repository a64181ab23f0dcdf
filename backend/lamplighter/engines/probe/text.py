"""Words of others, made harmless."""

import re
import unicodedata
from typing import Final

import re2

from lamplighter.domain.text import one_line, shorten

CHARACTERS: Final = 200

_MARKER: Final = re.compile(r"\[(?=[\s*_]*[A-Za-z]+[\s*_]*:)")
# without [ there is no marker, without a back-tick no code that hides one of ours
_HARMLESS: Final = str.maketrans({"[": "(", "]": ")", "`": "'"})


def harmless(text: str, limit: int = CHARACTERS) -> str:
    """Return what a service said as one short line in which nothing can be a marker."""
    plain = unicodedata.normalize("NFKC", text[: 4 * limit])
    return shorten(one_line(plain).translate(_HARMLESS), limit)


def inline(text: str, limit: int = CHARACTERS) -> str:
    """Return an operator's own words, a pattern say, as one line; only a marker is undone."""
    return shorten(_MARKER.sub("(", one_line(text)).replace("`", "'"), limit)


def seconds(count: float) -> str:
    """Return a time as one says it."""
    return f"{count:g} s"


def size(count: float) -> str:
    """Return so many bytes as one says it."""
    units = iter(("bytes", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while count >= 999.5 and unit != "TB":
        count, unit = count / 1000, next(units)
    return f"{count:.0f} {unit}" if count >= 99.5 else f"{count:.3g} {unit}"


_QUIET: Final = re2.Options()
_QUIET.log_errors = False


def pattern_matches(pattern: str, text: bytes) -> bool:
    """Say whether a text contains what the pattern finds; time grows with the text alone."""
    return bool(re2.search(pattern, text, _QUIET))
