"""Names with their values, found one after another without a new search for each.

A search of RE2 from Python costs as much as the scan of a kilobyte. Where the names of secrets are
close together, one iteration of a simple pattern visits each name in its place.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from lamplighter.domain.secrets.names import ANY_WORD, secret_kind

NAME_CHARS: Final = "A-Za-z0-9_.-"
LONGEST_TAIL: Final = 40
"""The most characters of a name after the word that makes it that of a secret."""

LONGEST_NAME: Final = 60
"""The most characters before the word of a secret that are read as a part of its name."""

_AHEAD: Final = r"[\s\"'\\\],]*+[=:>vV]"
"""What every assignment begins with, and some other texts."""

_END: Final = r"(?(quote)(?=(?P=quote))|(?=[)\]}.,;:]{0,8}+(?:[\s\"'<>`]|\Z)))"
_CLEAR: Final = (
    r"(?=[A-Za-z0-9_+=#*!$%^@~-]{4})(?:[0-9]{0,20}+[A-Za-z][A-Za-z_+#*!-]{0,40}+[0-9]"
    rf"|[0-9]{{1,20}}+[A-Za-z]{{4}})[A-Za-z0-9_+=#*!$%^@~-]{{0,300}}+{_END}"
)
"""A value with a digit beside its letters: no word, number, date or path."""

RUNS: Final = re.compile(
    rf"(?:[^{NAME_CHARS}]*+[{NAME_CHARS}]++(?!{_AHEAD})){{0,200}}[^{NAME_CHARS}]*+"
    rf"(?:(?P<run>[{NAME_CHARS}]{{1,{LONGEST_NAME}}}+)(?![{NAME_CHARS}])"
    rf"(?=(?:\\?[\"'])? {{0,20}}+[=:] {{0,20}}+(?P<quote>\\?[\"'])?"
    rf"(?:(?P<clear>{_CLEAR})|(?P<word>[A-Za-z]{{4,40}}+){_END})|)"
    rf"|(?=[{NAME_CHARS}])|\Z)".encode()
)
"""Matches up to the end of the next run of name characters that an assignment may follow.

`clear` is the value if it certainly is a secret after the name of one, `word` a value of letters.
Without `run`, another run begins at the end of the match, or the text ends. No group is possessive:
Python before 3.11.5 then finds nothing where a part of the group can match in several ways.
"""

_WORD: Final = re.compile(rf"(?={ANY_WORD}[{NAME_CHARS}]{{0,{LONGEST_TAIL}}}\Z)".encode())


class Name(NamedTuple):
    """The words of secrets in a run of name characters, and the kind of the whole name."""

    offsets: tuple[int, ...]
    kind: str
    counted: bool


@lru_cache(maxsize=4096)
def read_run(run: bytes | None) -> Name | None:
    """Return the name of a secret in a run of name characters."""
    if run is None:
        return None
    offsets = tuple(word.start() for word in _WORD.finditer(run))
    if not offsets:
        return None
    counted = run[offsets[0] : offsets[0] + 5].lower() == b"token"
    return Name(offsets, secret_kind(run.decode("ascii")), counted)
