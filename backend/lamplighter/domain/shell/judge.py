"""Judgment of commands: each is read-only, a declared action of services.yaml, or refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.services.service import Action, Service
from lamplighter.domain.shell import forms, patterns, spelling
from lamplighter.domain.shell.families import refusal_reason
from lamplighter.domain.shell.forms import CommandRule, RuleMismatch, match_words, merge_options
from lamplighter.domain.shell.parsing import UnclearCommand, parse
from lamplighter.domain.shell.read_only import read_only_commands
from lamplighter.domain.shell.rules import CommandPolicy

LONGEST_KEY: Final = 3
_MORE: Final = "is not on the list of read-only commands; it can be declared in services.yaml"


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


def judge_line(line: str, rules: CommandPolicy) -> CommandVerdict:
    """Parse a line into words and return the verdict on it."""
    read = parse(line)
    return (
        RefusedCommand(read.why)
        if isinstance(read, UnclearCommand)
        else judge_command(read.argv, rules)
    )


def judge_command(argv: Sequence[str], rules: CommandPolicy) -> CommandVerdict:
    """Return the verdict on a command."""
    if found := _declared_action(argv, rules):
        return ActionCommand(found[0].name, found[1].name)
    hint = _hint(argv, rules)
    for pattern in rules.services.shell:
        # a wide pattern must not bypass a cooldown
        if patterns.matches(pattern, argv) and not (hint and patterns.is_wide(pattern)):
            return PermittedCommand(
                tuple(argv), declared=pattern, within=patterns.star_paths(pattern, argv)
            )
    program = spelling.program_name(argv[0])
    if "/" in program:
        return RefusedCommand(
            f"{program!r} is not a system program; use the name without a directory"
        )
    try:
        return _read_command((program, *argv[1:]), rules)
    except RuleMismatch as wrong:
        return RefusedCommand(f"{wrong}{hint}")


def _declared_action(words: Sequence[str], rules: CommandPolicy) -> tuple[Service, Action] | None:
    wanted = spelling.normalize_command(words)
    for service in rules.services:
        for action in service.actions:
            if spelling.normalize_command(action.argv) == wanted:
                return service, action
    return None


def _read_command(argv: tuple[str, ...], rules: CommandPolicy) -> PermittedCommand:
    program = argv[0]
    listed = read_only_commands()
    before, at = _match_leading(argv, rules)
    length = next((n for n in range(LONGEST_KEY, 0, -1) if _key(argv, at, n) in listed.rules), 0)
    key = _key(argv, at, length)
    rest = argv[at + length - 1 :]
    if not length or (length == 1 and _is_verb(program, rest)):
        raise RuleMismatch(_unknown_reason(program, argv[at:]))
    shape = listed.rules[key]
    if program in listed.common:
        shape = merge_options(shape, listed.common[program])
        # words before the verb belong to the same form
        rest = (*argv[1:at], *rest)
        before = forms.MatchedWords(())
    after = match_words(shape, rest, rules)
    verbs = argv[at : at + length - 1]
    head = (program, *before.argv, *verbs, *shape.added)
    paths = (
        *(1 + index for index in before.paths),
        *(len(head) + index for index in after.paths),
    )
    return PermittedCommand((*head, *after.argv), paths)


def _match_leading(argv: Sequence[str], rules: CommandPolicy) -> tuple[forms.MatchedWords, int]:
    """Match the options before the verb with their rule, and return the position of the verb."""
    listed = read_only_commands()
    shape = listed.leading.get(argv[0]) or listed.common.get(argv[0])
    if shape is None:
        return forms.MatchedWords(()), 1
    at = _verb_at(shape, argv)
    if argv[0] in listed.common:
        return forms.MatchedWords(()), at
    return match_words(shape, argv[1:at], rules), at


def _verb_at(shape: CommandRule, argv: Sequence[str]) -> int:
    """Return the end of the options before the verb; some of them have a value."""
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "--":
        valued = bool(shape.options.get(argv[at]))
        at += 2 if valued else 1
    return min(at, len(argv))


def _key(words: Sequence[str], at: int, length: int) -> str:
    return " ".join((words[0], *words[at : at + length - 1]))


def _is_verb(program: str, rest: Sequence[str]) -> bool:
    return _has_subcommands(program) and bool(rest) and not rest[0].startswith("-")


def _has_subcommands(program: str) -> bool:
    return any(key.startswith(f"{program} ") for key in read_only_commands().rules)


def _unknown_reason(program: str, rest: Sequence[str]) -> str:
    if why := refusal_reason(program):
        return f"{program} {why}"
    if rest and _has_subcommands(program):
        return f"{program} {rest[0]} {_MORE}"
    return f"{program} {_MORE}"


def _hint(words: Sequence[str], rules: CommandPolicy) -> str:
    for service in rules.services:
        for action in service.actions:
            if spelling.contains_words(words, spelling.normalize_command(action.argv)):
                return f"; {service.name} has the action {action.name}: use run_action"
    return ""
