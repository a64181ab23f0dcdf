"""The words of commands: normalized spelling, effects of programs, patterns of services.yaml."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from lamplighter.domain.tables import read_table

TRUSTED: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""The only directories in which programs are searched."""

ANY: Final = "*"
REST: Final = "**"
_VERBS: Final = frozenset({"start", "stop", "restart", "reload", "kill", "rm"})
_EFFECTS: Final = {
    "root": "runs commands as another user",
    "runs": "runs another program",
    "shell": "is a shell: it can run any command",
    "code": "runs arbitrary code",
    "away": "connects to another machine or sends data there",
    "opens": "is interactive and can run other programs",
    "writes": "writes or deletes files",
    "state": "changes the machine or a service",
}
_WHY: Final = {
    name: _EFFECTS[family]
    for family, names in read_table(__package__, "families.txt")
    for name in names.split()
}
_LIMITED: Final = (_EFFECTS["writes"], _EFFECTS["state"])
"""Their effect depends on their arguments; they run no other program."""

_VERSION: Final = re.compile(r"(?:-?[0-9][0-9.]*)$")

Pattern = tuple[str, ...]
"""A program and its words: `*` matches characters of a word, a final `**` the remaining words."""


def program_name(word: str) -> str:
    """Return a program's name, without a trusted directory."""
    directory, _, name = word.rpartition("/")
    return name if directory in TRUSTED else word


def normalize_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command in normalized spelling, to compare two spellings of one action."""
    argv = _without_sudo(list(words))
    argv[0] = program_name(argv[0])
    if argv[0] in ("docker", "podman") and argv[1:2] == ["container"] and len(argv) > 2:
        del argv[1]
    if argv[0] == "docker-compose":
        argv[:1] = ["docker", "compose"]
    if argv[0] == "ssh" and len(argv) > 2:
        argv[2:] = " ".join(argv[2:]).split()
    if argv[0] == "service" and len(argv) == 3:
        argv = ["systemctl", argv[2], argv[1]]
    if argv[0] == "systemctl" and len(argv) > 2 and argv[1] in _VERBS:
        argv[2:] = [word.removesuffix(".service") for word in argv[2:]]
    return tuple(argv)


def _without_sudo(argv: list[str]) -> list[str]:
    if argv[0] != "sudo" or len(argv) == 1:
        return argv
    rest = argv[1:]
    while rest[0] in ("-n", "--non-interactive", "--") and len(rest) > 1:
        rest = rest[1:]
    return argv if rest[0].startswith("-") else rest


def contains_words(words: Sequence[str], expected: Sequence[str]) -> bool:
    """Whether a command contains all words of another one, inside any wrapper."""
    parts = (program_name(part) for word in words for part in word.split())
    return all(any(part == each for part in parts) for each in expected)


def refusal_reason(program: str) -> str:
    """Return the effect of a program that is not read-only; empty for an unknown program."""
    return _WHY.get(program) or _WHY.get(_VERSION.sub("", program), "")


def full_words_reason(program: str) -> str:
    """Return why a pattern must list all arguments of a program; empty if it need not."""
    why = refusal_reason(program)
    return "" if why in _LIMITED else why


def matches(pattern: Pattern, argv: Sequence[str]) -> bool:
    """Whether a pattern allows a command.

    No `*` matches a word that begins with a dash, or a path that leaves a directory.
    """
    if program_name(argv[0]) != program_name(pattern[0]):
        return False
    if pattern[-1] == REST:
        pattern = pattern[:-1]
        argv = argv[: len(pattern)]
    return len(pattern) == len(argv) and all(map(_matches_word, pattern[1:], argv[1:]))


def star_paths(pattern: Pattern, argv: Sequence[str]) -> tuple[tuple[int, int, str], ...]:
    """Return the words with a star in a path: position, start of the path, fixed directory.

    A word that is only a star may also be a path, which may lead anywhere.
    """
    paths = []
    for index, (word, argument) in enumerate(zip(pattern, argv, strict=False)):
        fixed, star, _ = word.partition(ANY)
        if star and "/" in fixed:
            start = fixed.index("/")
            paths.append((index, start, fixed[start : fixed.rindex("/") + 1]))
        elif star and argument.startswith("/"):
            paths.append((index, 0, "/"))
    return tuple(paths)


def is_wide(pattern: Pattern) -> bool:
    """Whether a pattern allows more than one command."""
    return any(ANY in word for word in pattern)


def pattern_problem(pattern: Pattern) -> str:
    """Return why a pattern is not accepted; empty if it is."""
    program = pattern[0]
    if ANY in program:
        return "the program name may not contain *"
    if "/" in program and not program.startswith("/"):
        return f"{program!r} is neither a name nor an absolute path"
    if REST in pattern[:-1] or any(REST in word and word != REST for word in pattern):
        return "** is allowed only as the last word"
    why = full_words_reason(program_name(program))
    return f"{program} {why}; write out all its arguments" if why and is_wide(pattern) else ""


def _matches_word(pattern: str, word: str) -> bool:
    if ANY not in pattern:
        return pattern == word
    if ".." in word.split("/") or (word.startswith("-") and not pattern.startswith("-")):
        return False
    return bool(_compile(pattern).fullmatch(word))


@lru_cache(maxsize=1000)
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile the pattern of a word; a star among others stays within one part of a path."""
    one = ".+" if pattern == ANY else "[^/]*"
    return re.compile(one.join(map(re.escape, pattern.split(ANY))), re.DOTALL)
