"""What becomes of a command: it looks, it is an action of services.yaml, or it is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.services.service import Action, Service
from lamplighter.domain.shell import forms, patterns, spelling
from lamplighter.domain.shell.families import why_refused
from lamplighter.domain.shell.forms import Form, Wrong, also, take
from lamplighter.domain.shell.parsing import Unclear, parse
from lamplighter.domain.shell.read_only import AROUND, BEFORE, LOOKS
from lamplighter.domain.shell.rules import Rules

LONGEST_KEY: Final = 3
_MORE: Final = "is not among the commands that only look; people can declare it in services.yaml"


@dataclass(frozen=True, slots=True)
class Look:
    """A command that only looks, or that a person declared: its words, and which are paths.

    `declared` is the pattern of services.yaml that allows it; `within` are its words whose
    star is in a path: which word, where the path begins, and the directory it has to stay in.
    """

    argv: tuple[str, ...]
    paths: tuple[int, ...] = ()
    declared: tuple[str, ...] = ()
    within: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """A command that is a declared action, which goes through the gate by its name."""

    service: str
    action: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A command that is not run, and why."""

    why: str


Judgement = Look | Act | Refused


def judged(line: str, rules: Rules) -> Judgement:
    """Return what becomes of a line: read into words, then judged."""
    read = parse(line)
    return Refused(read.why) if isinstance(read, Unclear) else judge(read.words, rules)


def judge(words: Sequence[str], rules: Rules) -> Judgement:
    """Return what becomes of a command."""
    if found := _action(words, rules):
        return Act(found[0].name, found[1].name)
    hint = _hint(words, rules)
    for pattern in rules.services.shell:
        # a wide pattern leads round no cooldown
        if patterns.fits(pattern, words) and not (hint and patterns.is_wide(pattern)):
            return Look(tuple(words), declared=pattern, within=patterns.within(pattern, words))
    program = spelling.program(words[0])
    if "/" in program:
        return Refused(f"{program!r} is no program of the system; name it without a directory")
    try:
        return _look((program, *words[1:]), rules)
    except Wrong as wrong:
        return Refused(f"{wrong}{hint}")


def _action(words: Sequence[str], rules: Rules) -> tuple[Service, Action] | None:
    wanted = spelling.plain(words)
    for service in rules.services:
        for action in service.actions:
            if spelling.plain(action.argv) == wanted:
                return service, action
    return None


def _look(words: tuple[str, ...], rules: Rules) -> Look:
    program = words[0]
    before, at = _leading(words, rules)
    length = next((n for n in range(LONGEST_KEY, 0, -1) if _key(words, at, n) in LOOKS), 0)
    key = _key(words, at, length)
    rest = words[at + length - 1 :]
    if not length or (length == 1 and _is_verb(program, rest)):
        raise Wrong(_unknown(program, rest))
    shape = LOOKS[key]
    if program in AROUND:
        shape = also(shape, AROUND[program])
        # what stood before the verb is of the same form
        rest = (*words[1:at], *rest)
        before = forms.Taken(())
    taken = take(shape, rest, rules)
    verbs = words[at : at + length - 1]
    head = (program, *before.words, *verbs, *shape.added)
    paths = (
        *(1 + index for index in before.paths),
        *(len(head) + index for index in taken.paths),
    )
    return Look((*head, *taken.words), paths)


def _leading(words: Sequence[str], rules: Rules) -> tuple[forms.Taken, int]:
    """Hold the options before the verb to their form, and return where the verb is."""
    shape = BEFORE.get(words[0]) or AROUND.get(words[0])
    if shape is None:
        return forms.Taken(()), 1
    at = _verb_at(shape, words)
    if words[0] in AROUND:
        return forms.Taken(()), at
    return take(shape, words[1:at], rules), at


def _verb_at(shape: Form, words: Sequence[str]) -> int:
    """Return where the options before the verb end, going by which of them have a value."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        valued = bool(shape.options.get(words[at]))
        at += 2 if valued else 1
    return min(at, len(words))


def _key(words: Sequence[str], at: int, length: int) -> str:
    return " ".join((words[0], *words[at : at + length - 1]))


def _is_verb(program: str, rest: Sequence[str]) -> bool:
    several = any(key.startswith(f"{program} ") for key in LOOKS)
    return several and bool(rest) and not rest[0].startswith("-")


def _unknown(program: str, rest: Sequence[str]) -> str:
    if why := why_refused(program):
        return f"{program} {why}"
    if rest and any(key.startswith(f"{program} ") for key in LOOKS):
        return f"{program} {rest[0]} {_MORE}"
    return f"{program} {_MORE}"


def _hint(words: Sequence[str], rules: Rules) -> str:
    for service in rules.services:
        for action in service.actions:
            if spelling.holds(words, spelling.plain(action.argv)):
                return f"; {service.name} has the action {action.name}: use run_action"
    return ""
