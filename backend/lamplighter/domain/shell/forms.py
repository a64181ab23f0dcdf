"""Rules of read-only commands: the options and operands, and the matching of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.shell.kinds import APART, DASHED, KINDS
from lamplighter.domain.shell.rules import CommandPolicy

MOST: Final = 20
"""The maximum number of repetitions of an operand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRule:
    """The options a command may have, with the kind of their values, and its operands.

    An option without a value has the kind "". `whole` options are long ones with a single dash. The
    value of `optional` ones may be missing, and is joined to the option; that of a `nearby` one is
    the next word if it fits. All `needs` must be present (`-D|--detail` is either); `added` words
    are inserted before the rest.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    nearby: frozenset[str] = frozenset()
    operands: tuple[str, ...] = ()
    whole: bool = False
    needs: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def command_rule(
    words: str, *, whole: bool = False, needs: Sequence[str] = (), added: Sequence[str] = ()
) -> CommandRule:
    """Parse the short form of a rule: `command_rule("-lah --all --sort=name path+")`.

    `-n=kind` has a value, `-n?=kind` may have one, `-n??=kind` may have one in the next word.
    Operands are one word each; `?` makes one optional, `+` and `*` repeat the last.
    """
    options: dict[str, str] = {}
    unsure: dict[str, str] = {}
    operands = tuple(word for word in words.split() if not word.startswith("-"))
    for each in (word for word in words.split() if word.startswith("-")):
        name, valued, kind = each.partition("=")
        name, sign = name.rstrip("?"), name[len(name.rstrip("?")) :]
        unsure |= {name: sign} if sign else {}
        if valued and not whole and len(name) != 2 and not name.startswith("--"):
            raise ValueError(f"{each} names several options")
        if valued or whole or name.startswith(("--", "-aux")):
            options[name] = kind
        else:
            options |= {f"-{letter}": "" for letter in name[1:]}
    return CommandRule(
        options=options,
        optional=frozenset(unsure),
        nearby=frozenset(name for name, sign in unsure.items() if sign == "??"),
        operands=operands,
        whole=whole,
        needs=tuple(needs),
        added=tuple(added),
    )


class RuleMismatch(Exception):
    """A word that does not match the rule."""


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """Words that match a rule: `paths` are the positions of file names."""

    argv: tuple[str, ...]
    paths: tuple[int, ...] = ()


def merge_options(one: CommandRule, other: CommandRule) -> CommandRule:
    """Return a rule that also accepts the options of another one."""
    return replace(
        one,
        options={**other.options, **one.options},
        optional=one.optional | other.optional,
        nearby=one.nearby | other.nearby,
        needs=(*other.needs, *one.needs),
    )


def match_words(shape: CommandRule, words: Sequence[str], rules: CommandPolicy) -> MatchedWords:
    """Match the words after a command with its rule; raises RuleMismatch naming a wrong word."""
    taking = _WordMatcher(shape, words, rules)
    taking.walk()
    return MatchedWords(tuple(words), tuple(taking.paths))


class _WordMatcher:
    """Processes the words like the option parser of the program."""

    def __init__(self, shape: CommandRule, words: Sequence[str], rules: CommandPolicy) -> None:
        self._form, self._words, self._rules = shape, words, rules
        self._at = 0
        self._seen: set[str] = set()
        self._operands: list[tuple[int, str]] = []
        self.paths: list[int] = []

    def walk(self) -> None:
        ended = False
        while self._at < len(self._words):
            word = self._words[self._at]
            self._at += 1
            if not ended and word == "--":
                ended = True
            elif word.startswith("-"):
                if ended or word == "-":
                    raise RuleMismatch(f"{word!r} is not accepted as a name")
                self._option(word)
            else:
                self._operands.append((self._at - 1, word))
        self._hold_operands()
        for needed in self._form.needs:
            if self._seen.isdisjoint(needed.split("|")):
                raise RuleMismatch(f"the option {needed.replace('|', ' or ')} is missing")

    def _option(self, word: str) -> None:
        if self._form.whole or (not word.startswith("--") and word in self._form.options):
            self._single(word)
        elif word.startswith("--"):
            name, given, value = word.partition("=")
            self._single(name, value if given else None)
        else:
            self._cluster(word)

    def _single(self, name: str, value: str | None = None) -> None:
        kind = self._kind(name)
        if kind and value is None:
            self._value(name, kind)
        elif kind:
            self._hold(kind, value or "", glued=True)
        elif value is not None:
            raise RuleMismatch(f"{name} takes no value")

    def _cluster(self, word: str) -> None:
        for at, letter in enumerate(word[1:], start=2):
            name = f"-{letter}"
            if kind := self._kind(name):
                if rest := word[at:]:
                    self._hold(kind, rest, glued=True)
                else:
                    self._value(name, kind)
                return

    def _kind(self, name: str) -> str:
        kind = self._form.options.get(name)
        if kind is None:
            raise RuleMismatch(f"the option {name} is not on the list of read-only options")
        self._seen.add(name)
        return kind

    def _value(self, name: str, kind: str) -> None:
        """Read the next word as the value of an option."""
        following = self._words[self._at] if self._at < len(self._words) else None
        if name in self._form.optional:
            unfit = following is None or KINDS[kind](following, self._rules)
            if unfit or name not in self._form.nearby:
                return
        if following is None or (following.startswith("-") and kind not in DASHED):
            raise RuleMismatch(f"{name} needs a value")
        self._hold(kind, following)
        if kind == "path":
            self.paths.append(self._at)
        self._at += 1

    def _hold(self, kind: str, word: str, *, glued: bool = False) -> None:
        if glued and kind in APART:
            raise RuleMismatch(f"{word!r} must be separated from its option by a space")
        if why_not := KINDS[kind](word, self._rules):
            raise RuleMismatch(why_not)

    def _hold_operands(self) -> None:
        kinds = list(_operand_kinds(self._form.operands, len(self._operands)))
        for (at, word), kind in zip(self._operands, kinds, strict=False):
            self._hold(kind, word)
            if kind == "path":
                self.paths.append(at)
        if len(self._operands) > len(kinds):
            raise RuleMismatch(f"{self._operands[len(kinds)][1]!r} is one argument too many")


def _operand_kinds(operands: Sequence[str], count: int) -> list[str]:
    """Return the kinds of `count` operands; raises RuleMismatch if any are missing."""
    kinds: list[str] = []
    for each in operands:
        kind, sign = (each[:-1], each[-1]) if each[-1] in "?+*" else (each, "")
        if sign in ("", "+") and len(kinds) >= count:
            raise RuleMismatch(f"an argument is missing: {kind}")
        kinds += [kind] * (min(count, MOST) - len(kinds) if sign in ("+", "*") else 1)
    return kinds
