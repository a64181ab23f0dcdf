"""Strict parsing of one simple command into words; other shell syntax is refused.

Quotes and backslashes are parsed. No shell ever sees the line: an ambiguous line might mean
something else to the next parser.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

LINE_CHARACTERS: Final = 4000
MAX_WORDS: Final = 100

_SEVERAL: Final = "only one command is allowed: {!r} would start another"
_FILES: Final = "{!r} would redirect to or from a file, or start another command"
_VALUE: Final = "{!r} would be expanded; write out the value"
_PATTERN: Final = "{!r} would expand to file names; quote it or write out the names"
_GROUP: Final = "{!r} would group or define commands"
_WHY: Final = {
    **dict.fromkeys(";&|", _SEVERAL),
    **dict.fromkeys("<>", _FILES),
    **dict.fromkeys("$`!", _VALUE),
    **dict.fromkeys("*?[]", _PATTERN),
    **dict.fromkeys("(){}", _GROUP),
}
_IN_DOUBLE: Final = frozenset("$`!")
_ESCAPES_IN_DOUBLE: Final = frozenset('"\\$`')
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Invisible letters and signs."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_PROGRAM: Final = re.compile(r"/?[A-Za-z0-9_.+/-]+")


@dataclass(frozen=True, slots=True)
class CommandWords:
    """A program and its arguments."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnclearCommand:
    """A line that is not accepted, and the reason."""

    why: str


class _ShellSyntax(Exception):
    """Syntax that only a shell understands."""


def parse(line: str) -> CommandWords | UnclearCommand:
    """Return the words of one simple command, or why it is not one."""
    line = line.strip(" ")
    if len(line) > LINE_CHARACTERS:
        return UnclearCommand(f"the line is longer than {LINE_CHARACTERS} characters")
    if odd := next((char for char in line if not _is_visible(char)), None):
        return UnclearCommand(f"an invisible or ambiguous character: U+{ord(odd):04X}")
    try:
        words = tuple(_Reader(line).split())
    except _ShellSyntax as odd_one:
        return UnclearCommand(str(odd_one))
    return _check_words(line, words)


def _check_words(line: str, argv: tuple[str, ...]) -> CommandWords | UnclearCommand:
    if not argv:
        return UnclearCommand("the command is empty")
    if len(argv) > MAX_WORDS:
        return UnclearCommand(f"more than {MAX_WORDS} words")
    if _ASSIGNMENT.match(line):
        return UnclearCommand("it would set a variable for the command")
    if not _PROGRAM.fullmatch(argv[0]):
        return UnclearCommand("a program name may contain only letters, digits and . _ + -")
    return CommandWords(argv)


def _is_visible(char: str) -> bool:
    """Whether a character is visible and unambiguous; a space is the only blank."""
    if char.isascii():
        return char.isprintable()
    if unicodedata.category(char)[0] not in "LNPS" or char in _BLANK:
        return False
    return unicodedata.normalize("NFKC", char) == char


class _Reader:
    """Splits a line into words."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def split(self) -> list[str]:
        argv: list[str] = []
        while self._at < len(self._line):
            if self._line[self._at] == " ":
                self._at += 1
            else:
                argv.append(self._word())
        return argv

    def _word(self) -> str:
        start, parts = self._at, list[str]()
        while self._at < len(self._line) and (char := self._line[self._at]) != " ":
            if char == "'":
                parts.append(self._single())
            elif char == '"':
                parts.append(self._double())
            elif char == "\\":
                parts.append(self._escaped())
            else:
                parts.append(self._bare(char, start))
        return "".join(parts)

    def _single(self) -> str:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            raise _ShellSyntax("a quote is not closed")
        said = self._line[self._at + 1 : end]
        self._at = end + 1
        return said

    def _double(self) -> str:
        chars: list[str] = []
        self._at += 1
        while self._at < len(self._line):
            char = self._line[self._at]
            self._at += 1
            if char == '"':
                return "".join(chars)
            if char in _IN_DOUBLE:
                raise _ShellSyntax(_VALUE.format(char))
            if char == "\\" and self._line[self._at : self._at + 1] in _ESCAPES_IN_DOUBLE:
                char = self._line[self._at]
                self._at += 1
            chars.append(char)
        raise _ShellSyntax("a quote is not closed")

    def _escaped(self) -> str:
        char = self._line[self._at + 1 : self._at + 2]
        if not char:
            raise _ShellSyntax("the line ends with a backslash")
        self._at += 2
        return char

    def _bare(self, char: str, start: int) -> str:
        if char in _WHY:
            raise _ShellSyntax(_WHY[char].format(char))
        if char == "#" and self._at == start:
            raise _ShellSyntax("'#' would begin a comment")
        if char == "~" and (self._at == start or self._line[self._at - 1] in "=:"):
            raise _ShellSyntax(_VALUE.format(char))
        if not char.isascii():
            raise _ShellSyntax(f"{char!r} is not ASCII; write it in quotes")
        self._at += 1
        return char
