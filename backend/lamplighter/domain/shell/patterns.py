"""The commands that people declare in services.yaml: one pattern a word."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from lamplighter.domain.shell import spelling
from lamplighter.domain.shell.families import full_words_reason

ANY: Final = "*"
REST: Final = "**"

Pattern = tuple[str, ...]
"""A program and its words: `*` matches characters of a word, a final `**` the remaining words."""


def matches(pattern: Pattern, argv: Sequence[str]) -> bool:
    """Whether a pattern allows a command.

    No `*` matches a word that begins with a dash, or a path that leaves a directory.
    """
    if spelling.program_name(argv[0]) != spelling.program_name(pattern[0]):
        return False
    if pattern[-1] == REST:
        pattern = pattern[:-1]
        argv = argv[: len(pattern)] if len(argv) >= len(pattern) else argv
    if len(pattern) != len(argv):
        return False
    return all(map(_matches_word, pattern[1:], argv[1:]))


def star_paths(pattern: Pattern, argv: Sequence[str]) -> tuple[tuple[int, int, str], ...]:
    """Return the words with a star in a path: position, start of the path, fixed directory.

    A word that is only a star may also be a path, which may lead anywhere.
    """
    paths = []
    for index, (word, argument) in enumerate(zip(pattern, argv, strict=False)):
        if ANY not in word:
            continue
        start = word.find("/")
        if 0 <= start < word.index(ANY):
            paths.append((index, start, word[start : word.rindex("/", 0, word.index(ANY)) + 1]))
        elif argument.startswith("/"):
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
    why = full_words_reason(spelling.program_name(program))
    if why and is_wide(pattern):
        return f"{program} {why}; write out all its arguments"
    return ""


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
