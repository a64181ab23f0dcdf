"""Text of services, made harmless."""

import re
import unicodedata
from typing import Final

import re2

from lamplighter.domain.text import one_line

CHARACTERS: Final = 200
READ_CHARACTERS: Final = 16_384
"""So much of a long text is read at the most: the longest secret fits."""

# a masked secret is not a marker
_MARKER: Final = re.compile(r"\[(?!REDACTED:)(?=[\s*_]*[A-Za-z]+[\s*_]*:)")
# no marker without [, and no inline code that hides our markers without a backtick
_HARMLESS: Final = str.maketrans({"[": "(", "]": ")", "`": "'"})
_MASKED: Final = re.compile(r"(\[REDACTED:[\w:-]{1,64}\])")
_BREAK: Final = re.compile(r"""[\s"'{}\[\](),;<>|]""")


def harmless(text: str, limit: int = CHARACTERS) -> str:
    """Return a service's text as one short line that cannot contain a marker.

    Masked secrets stay unchanged: the supervisor, which masks again, must recognize them.
    """
    plain = unicodedata.normalize("NFKC", mask(text[:READ_CHARACTERS], longer_than=limit))
    parts = _MASKED.split(one_line(plain))
    parts[::2] = [each.translate(_HARMLESS) for each in parts[::2]]
    return _cut("".join(parts), limit)


def inline(text: str, limit: int = CHARACTERS) -> str:
    """Return an operator's own text, such as a pattern, as one line; only markers are disarmed."""
    plain = one_line(mask(text, longer_than=limit))
    return _cut(_MARKER.sub("(", plain).replace("`", "'"), limit)


def mask(text: str, *, longer_than: int) -> str:
    """Mask the secrets of a text before it is cut: half a secret cannot be recognized.

    Text that is not cut is masked by the supervisor, which knows more secrets.
    """
    if len(text) <= longer_than:
        return text
    from lamplighter.domain.secrets.redact import Redactor  # late import

    return Redactor().lines(text)


def _cut(text: str, limit: int) -> str:
    """Cut a text before a word that does not fit: it may be a secret of the supervisor."""
    if len(text) <= limit:
        return text
    breaks = [found.start() for found in _BREAK.finditer(text, 0, limit)]
    spaces = [each for each in breaks if each >= limit // 2 and text[each].isspace()]
    return f"{text[: max(spaces or breaks, default=0)].rstrip()}…"


def seconds(count: float) -> str:
    """Format a duration."""
    return f"{count:g} s"


def size(count: float) -> str:
    """Format a number of bytes."""
    units = iter(("bytes", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while count >= 999.5 and unit != "TB":
        count, unit = count / 1000, next(units)
    return f"{count:.0f} {unit}" if count >= 99.5 else f"{count:.3g} {unit}"


_QUIET: Final = re2.Options()
_QUIET.log_errors = False


def pattern_matches(pattern: str, text: bytes) -> bool:
    """Whether a pattern matches within a text; the time grows only with the text."""
    return bool(re2.search(pattern, text, _QUIET))
