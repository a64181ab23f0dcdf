"""Rules of read-only commands: their options and operands, and the matching of words."""

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import chain, product
from typing import Any, Final
from urllib.parse import urlsplit

from lamplighter.domain.services.check import PORTS
from lamplighter.domain.shell.rules import CommandPolicy
from lamplighter.domain.tables import read_table

MOST: Final = 20
"""The maximum number of repetitions of an operand."""

WordKind = Callable[[str, CommandPolicy], str]
"""Returns why a word is not of its kind; empty if it is."""

_SHAPES: Final = dict(read_table(__package__, "shapes.txt"))
_PS_FIELDS: Final = (
    "pid ppid pgid sid user uid group gid comm args cmd command etime etimes time cputime stat"
    " state s start lstart start_time pcpu pmem %cpu %mem rss vsz sz size nlwp thcount ni pri nice"
    " tty tt wchan psr class cls rtprio lwp tid unit cgroup label ucmd fname"
)
_DIG: Final = re.compile(
    r"\+(?:no)?(?:short|all|answer|authority|additional|comments|question|stats|cmd|tcp|trace"
    r"|dnssec|recurse|multiline|ttlid)|\+(?:time|tries|retry)=[0-9]{1,2}"
)
_URL: Final = re.compile(
    r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%/?&=+,:;-]*)?"
)
_RESOURCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.,-]*(?:/[A-Za-z0-9][A-Za-z0-9.-]*)?")
_REVISION: Final = r"[A-Za-z0-9_][A-Za-z0-9_./@^~:-]*"

_LOCAL_NETWORKS: Final = tuple(
    ipaddress.ip_network(each)
    for each in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("100.64.0.0/10", "::1/128", "fc00::/7", "fe80::/10"),
    )
)
"""This machine and the private networks."""

_RESOLVERS: Final = frozenset({"1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9"})
"""Public resolvers whose query logs are not accessible to others."""

_DASHED: Final = frozenset({"moment", "offset", "size"})
"""Kinds whose words may begin with a dash if separate from their option."""

_APART: Final = frozenset({"path", "user"})
"""Kinds whose words must be separate: joined, the program may parse them differently."""


def _matching(shape: str, problem: str) -> WordKind:
    """Return the kind of the words that match a pattern."""
    compiled = re.compile(shape)
    return lambda word, _: "" if compiled.fullmatch(word) else f"{word!r} {problem}"


def _host(word: str, rules: CommandPolicy) -> str:
    """A host in a check of services.yaml, or an address; any other name could leak data."""
    return "" if _is_literal_address(word.lower().rstrip(".")) else _declared_host(word, rules)


def _declared_host(word: str, rules: CommandPolicy) -> str:
    named = word.lower().rstrip(".") in rules.hosts()
    return "" if named else f"{word!r} is not a host of services.yaml"


def _dig_argument(word: str, rules: CommandPolicy) -> str:
    """An argument of dig: a host, a record type, the address of a server, or an output option."""
    if word.startswith("@"):
        server = word[1:].lower()
        if server in rules.hosts() or server in _RESOLVERS or _is_local(server):
            return ""
        return f"{word!r} is not a host of services.yaml, a local address or a public resolver"
    if word.startswith("+"):
        return "" if _DIG.fullmatch(word) else f"{word!r} is not an allowed option of dig"
    return "" if re.fullmatch(_SHAPES["record"], word) else _host(word, rules)


def _url(word: str, rules: CommandPolicy) -> str:
    """A plain URL of a host and port in a check of services.yaml."""
    read = _URL.fullmatch(word)
    if not read:
        return f"{word!r} is not a plain http or https URL"
    name, port = (urlsplit(word).hostname or "").lower(), int((read[3] or ":0")[1:])
    if (name, port or PORTS[read[1]]) in rules.places():
        return ""
    return f"{word!r} does not match a host and port of services.yaml"


def _fields(word: str, _: CommandPolicy) -> str:
    """Fields of ps, except the environment of a process."""
    named = (each.partition("=")[0] for each in re.split("[, ]", word))
    wrong = next((each for each in named if each not in _PS_FIELDS.split()), None)
    return "" if wrong is None else f"{wrong!r} is not an allowed field of ps"


def _resource(word: str, _: CommandPolicy) -> str:
    """A resource of kubectl; sessions may not read secrets."""
    if not _RESOURCE.fullmatch(word):
        return f"{word!r} is not a resource"
    named = {each.partition(".")[0] for each in word.lower().partition("/")[0].split(",")}
    return "" if named.isdisjoint(("secret", "secrets")) else "secrets may not be read"


KINDS: Final[Mapping[str, WordKind]] = {
    **{name: _matching(shape, f"is not a valid {name}") for name, shape in _SHAPES.items()},
    # other formats of curl could write a file
    "curl_format": _matching(
        r"(?s)(?=.{1,200}\Z)(?:[^%@\\]|\\[nrt\\]|%\{[a-z_]+\})+",
        "may contain only text and %{variables}",
    ),
    # the format of a signature (%G) runs gpg; git accepts each of these signs before the letter
    "git_format": _matching(r"(?s)(?!.*%[-+ ]?G).{1,200}", "is too long or would run a program"),
    "revision": _matching(
        rf"(?s)(?!.*(?:/\.\.|\.\./)){_REVISION}(?:\.\.\.?{_REVISION})?", "is not a revision"
    ),
    "fields": _fields,
    "host": _host,
    "known": _declared_host,
    "path": lambda word, rules: rules.path_problem(word),
    "question": _dig_argument,
    "resource": _resource,
    "url": _url,
}


def _is_literal_address(name: str) -> bool:
    """Whether a word is an address that cannot carry hidden text.

    An address with a scope (`fe80::1%words`) is a name to a resolver. A public IPv6 address has
    room for eight bytes or more that its owner can read; the address of a service is a host of its
    check.
    """
    address = _address(name)
    return address is not None and (address.version == 4 or _is_local(name))


def _is_local(name: str) -> bool:
    """Whether a word is an address of this machine or of a private network."""
    address = _address(name)
    return address is not None and any(address in each for each in _LOCAL_NETWORKS)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return None if "%" in name else ipaddress.ip_address(name)
    except ValueError:
        return None


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
        operands=tuple(word for word in words.split() if not word.startswith("-")),
        whole=whole,
        needs=tuple(needs),
        added=tuple(added),
    )


def merge_options(one: CommandRule, other: CommandRule) -> CommandRule:
    """Return a rule that also accepts the options of another one."""
    return replace(
        one,
        options={**other.options, **one.options},
        optional=one.optional | other.optional,
        nearby=one.nearby | other.nearby,
        needs=(*other.needs, *one.needs),
    )


@dataclass(frozen=True, slots=True)
class ReadOnlyCommands:
    """The rules of all read-only commands, by the words of each.

    `leading` options may precede the subcommand, `common` ones may also follow it; both by program.
    `files` are the programs that open the files in their arguments.
    """

    rules: Mapping[str, CommandRule]
    leading: Mapping[str, CommandRule]
    common: Mapping[str, CommandRule]
    files: frozenset[str]


@cache
def read_only_commands() -> ReadOnlyCommands:
    """Return the read-only commands; the file is read once, when the first command is judged."""
    text = files(__package__).joinpath("read_only.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    leading, common = read_rules(tables.pop("leading")), read_rules(tables.pop("common"))
    rules = read_rules(*tables.values())
    return ReadOnlyCommands(rules, leading, common, frozenset(tables["files"]))


def read_rules(*tables: Mapping[str, Any]) -> dict[str, CommandRule]:
    """Return the rule of each command in some tables of the file."""
    rules: dict[str, CommandRule] = {}
    for key, entry in chain.from_iterable(table.items() for table in tables):
        rule = command_rule(entry) if isinstance(entry, str) else command_rule(**entry)
        for command in _commands(key):
            if command in rules:
                raise ValueError(f"{command} is listed twice")
            rules[command] = rule
    return rules


def _commands(key: str) -> Iterator[str]:
    """Yield the commands of a key: `docker|podman ps, docker top` means three commands."""
    for each in key.split(","):
        yield from map(" ".join, product(*(word.split("|") for word in each.split())))


class RuleMismatch(Exception):
    """A word that does not match the rule."""


def match_words(shape: CommandRule, words: Sequence[str], rules: CommandPolicy) -> tuple[int, ...]:
    """Match the words after a command with its rule, and return the positions of file names.

    Raises RuleMismatch naming a wrong word.
    """
    matcher = _WordMatcher(shape, words, rules)
    matcher.walk()
    return tuple(matcher.paths)


class _WordMatcher:
    """Processes the words like the option parser of the program."""

    def __init__(self, shape: CommandRule, words: Sequence[str], rules: CommandPolicy) -> None:
        self._form, self._words, self._rules = shape, words, rules
        self._at = 0
        self._seen: set[str] = set()
        self.paths: list[int] = []

    def walk(self) -> None:
        operands: list[int] = []
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
                operands.append(self._at - 1)
        self._hold_operands(operands)
        for needed in self._form.needs:
            if self._seen.isdisjoint(needed.split("|")):
                raise RuleMismatch(f"the option {needed.replace('|', ' or ')} is missing")

    def _hold_operands(self, operands: Sequence[int]) -> None:
        kinds = _operand_kinds(self._form.operands, len(operands))
        for at, kind in zip(operands, kinds, strict=False):
            self._hold(kind, self._words[at], at)
        if len(operands) > len(kinds):
            raise RuleMismatch(f"{self._words[operands[len(kinds)]]!r} is one argument too many")

    def _option(self, word: str) -> None:
        if self._form.whole or (not word.startswith("--") and word in self._form.options):
            self._single(word)
        elif word.startswith("--"):
            name, given, value = word.partition("=")
            self._single(name, value if given else None)
        else:
            for at, letter in enumerate(word[1:], start=2):
                if self._kind(f"-{letter}"):
                    self._single(f"-{letter}", word[at:] or None)
                    return

    def _single(self, name: str, value: str | None = None) -> None:
        kind = self._kind(name)
        if kind and value is None:
            self._value(name, kind)
        elif value is not None:
            if not kind:
                raise RuleMismatch(f"{name} takes no value")
            if kind in _APART:
                raise RuleMismatch(f"{value!r} must be separated from its option by a space")
            self._hold(kind, value)

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
        if following is None or (following.startswith("-") and kind not in _DASHED):
            raise RuleMismatch(f"{name} needs a value")
        self._hold(kind, following, self._at)
        self._at += 1

    def _hold(self, kind: str, word: str, at: int | None = None) -> None:
        if why_not := KINDS[kind](word, self._rules):
            raise RuleMismatch(why_not)
        if kind == "path" and at is not None:
            self.paths.append(at)


def _operand_kinds(operands: Sequence[str], count: int) -> list[str]:
    """Return the kinds of `count` operands; raises RuleMismatch if any are missing."""
    kinds: list[str] = []
    for each in operands:
        kind, sign = (each[:-1], each[-1]) if each[-1] in "?+*" else (each, "")
        if sign in ("", "+") and len(kinds) >= count:
            raise RuleMismatch(f"an argument is missing: {kind}")
        kinds += [kind] * (min(count, MOST) - len(kinds) if sign in ("+", "*") else 1)
    return kinds
