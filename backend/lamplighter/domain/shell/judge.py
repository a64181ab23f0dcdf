"""Judgment of commands: each is read-only, a declared action of services.yaml, or refused.

A line is parsed strictly into the words of one simple command. Quotes and backslashes are parsed,
other shell syntax is refused. No shell ever sees the line: an ambiguous line might mean something
else to the next parser.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.shell import patterns
from lamplighter.domain.shell.forms import (
    CommandRule,
    RuleMismatch,
    match_words,
    merge_options,
    read_only_commands,
)
from lamplighter.domain.shell.rules import CommandPolicy

LINE_CHARACTERS: Final = 4000
MAX_WORDS: Final = 100
LONGEST_KEY: Final = 3
_MORE: Final = "is not on the list of read-only commands; it can be declared in services.yaml"

_VALUE: Final = "{!r} would be expanded; write out the value"
_WHY: Final = {
    **dict.fromkeys(";&|", "only one command is allowed: {!r} would start another"),
    **dict.fromkeys("<>", "{!r} would redirect to or from a file, or start another command"),
    **dict.fromkeys("$`!", _VALUE),
    **dict.fromkeys("*?[]", "{!r} would expand to file names; quote it or write out the names"),
    **dict.fromkeys("(){}", "{!r} would group or define commands"),
}
# each part begins in its own way, so that a backslash is never read apart from what it escapes
_DOUBLE: Final = r"""(?:\\["\\$`]|\\(?!["\\$`])|[^"\\$`!])*"""
_PIECE: Final = re.compile(
    rf"""'(?P<single>[^']*)'|"(?P<double>{_DOUBLE})"|\\(?P<escaped>.)|[^'"\\]"""
)
_EXPANDED: Final = re.compile(rf'"{_DOUBLE}([$`!])')
_ESCAPED: Final = re.compile(r'\\(["\\$`])')
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


@dataclass(frozen=True, slots=True)
class PermittedCommand:
    """A read-only or declared command: its words, and the positions of paths.

    `declared` is the pattern of services.yaml that allows the command; `within` are its words with
    a star in a path: the position of the word, the start of the path, and the directory that must
    contain it.
    """

    argv: tuple[str, ...]
    paths: tuple[int, ...] = ()
    declared: tuple[str, ...] = ()
    within: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ActionCommand:
    """A command that is a declared action, which runs by its name under the action policy."""

    service: str
    action: str


@dataclass(frozen=True, slots=True)
class RefusedCommand:
    """A command that is not run, and the reason."""

    why: str


CommandVerdict = PermittedCommand | ActionCommand | RefusedCommand


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
        argv = tuple(_split(line))
    except _ShellSyntax as odd_one:
        return UnclearCommand(str(odd_one))
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


def _split(line: str) -> list[str]:
    """Return the words of a line, without quotes and backslashes."""
    argv: list[str] = []
    at = start = 0
    while at < len(line):
        if line[at] == " ":
            start = at = at + 1
            continue
        if at == start:
            argv.append("")
        piece = _PIECE.match(line, at)
        if problem := _syntax_problem(line, at, first=at == start, closed=piece is not None):
            raise _ShellSyntax(problem)
        assert piece is not None
        text = piece[piece.lastgroup or 0]
        argv[-1] += _ESCAPED.sub(r"\1", text) if piece.lastgroup == "double" else text
        at = piece.end()
    return argv


def _syntax_problem(line: str, at: int, *, first: bool, closed: bool) -> str:
    """Return why the character at a position is not accepted; empty if it is."""
    char = line[at]
    if char == '"' and (expanded := _EXPANDED.match(line, at)):
        return _VALUE.format(expanded[1])
    if not closed:
        return "the line ends with a backslash" if char == "\\" else "a quote is not closed"
    if char in _WHY:
        return _WHY[char].format(char)
    if char == "#" and first:
        return "'#' would begin a comment"
    if char == "~" and (first or line[at - 1] in "=:"):
        return _VALUE.format(char)
    return "" if char.isascii() else f"{char!r} is not ASCII; write it in quotes"


def judge_line(line: str, rules: CommandPolicy) -> CommandVerdict:
    """Parse a line into words and return the verdict on it."""
    read = parse(line)
    if isinstance(read, UnclearCommand):
        return RefusedCommand(read.why)
    argv, hint = read.argv, _declared_action(read.argv, rules)
    if isinstance(hint, ActionCommand):
        return hint
    for pattern in rules.services.shell:
        # a wide pattern must not bypass a cooldown
        if patterns.matches(pattern, argv) and not (hint and patterns.is_wide(pattern)):
            return PermittedCommand(
                argv, declared=pattern, within=patterns.star_paths(pattern, argv)
            )
    program = patterns.program_name(argv[0])
    if "/" in program:
        return RefusedCommand(
            f"{program!r} is not a system program; use the name without a directory"
        )
    try:
        return _read_command((program, *argv[1:]), rules)
    except RuleMismatch as wrong:
        return RefusedCommand(f"{wrong}{hint}")


def _declared_action(argv: Sequence[str], rules: CommandPolicy) -> ActionCommand | str:
    """Return the action that a command is, else a hint at the first one inside the command."""
    hint, normalized = "", patterns.normalize_command(argv)
    for service in rules.services:
        for action in service.actions:
            declared = patterns.normalize_command(action.argv)
            if declared == normalized:
                return ActionCommand(service.name, action.name)
            if not hint and patterns.contains_words(argv, declared):
                hint = f"; {service.name} has the action {action.name}: use run_action"
    return hint


def _read_command(argv: tuple[str, ...], rules: CommandPolicy) -> PermittedCommand:
    program, listed = argv[0], read_only_commands()
    common = listed.common.get(program)
    leading = listed.leading.get(program) or common
    at = _verb_at(leading, argv) if leading else 1
    front, paths = argv[1:at], list[int]()
    if leading and not common:
        paths = [1 + index for index in match_words(leading, front, rules)]
    keys = {n: " ".join((program, *argv[at : at + n - 1])) for n in range(LONGEST_KEY, 0, -1)}
    length = next((n for n, key in keys.items() if key in listed.rules), 0)
    rest = argv[at + length - 1 :]
    verbs = [word for word in rest[:1] if not word.startswith("-")]
    if not length or (length == 1 and verbs and _has_subcommands(program)):
        raise RuleMismatch(_unknown_reason(program, argv[at:]))
    shape = listed.rules[keys[length]]
    if common:  # words before the verb belong to the same form
        shape, rest, front = merge_options(shape, common), (*front, *rest), ()
    head = (program, *front, *argv[at : at + length - 1], *shape.added)
    paths += [len(head) + index for index in match_words(shape, rest, rules)]
    return PermittedCommand((*head, *rest), tuple(paths))


def _verb_at(shape: CommandRule, argv: Sequence[str]) -> int:
    """Return the end of the options before the verb; some of them have a value."""
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "--":
        at += 2 if shape.options.get(argv[at]) else 1
    return min(at, len(argv))


def _has_subcommands(program: str) -> bool:
    return any(key.startswith(f"{program} ") for key in read_only_commands().rules)


def _unknown_reason(program: str, rest: Sequence[str]) -> str:
    if why := patterns.refusal_reason(program):
        return f"{program} {why}"
    verb = f" {rest[0]}" if rest and _has_subcommands(program) else ""
    return f"{program}{verb} {_MORE}"
