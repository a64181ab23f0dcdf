"""Normalized spelling of commands, to compare two spellings of one action."""

from collections.abc import Sequence
from typing import Final

TRUSTED: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""The only directories in which programs are searched."""

_VERBS: Final = frozenset({"start", "stop", "restart", "reload", "kill", "rm"})


def normalize_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command in normalized spelling for comparison."""
    rest = list(words)
    if rest[0] == "sudo" and len(rest) > 1:
        rest = _without_sudo(rest)
    rest[0] = program_name(rest[0])
    if rest[0] in ("docker", "podman") and rest[1:2] == ["container"] and rest[2:3] != []:
        del rest[1]
    if rest[0] == "docker-compose":
        rest[:1] = ["docker", "compose"]
    if rest[0] == "ssh" and len(rest) > 2:
        rest[2:] = " ".join(rest[2:]).split()
    return _normalize_unit(rest)


def program_name(word: str) -> str:
    """Return a program's name, without a trusted directory."""
    directory, _, name = word.rpartition("/")
    return name if directory in TRUSTED else word


def contains_words(words: Sequence[str], expected: Sequence[str]) -> bool:
    """Whether a command contains all words of another one, inside any wrapper."""
    parts = (program_name(part) for word in words for part in word.split())
    return all(any(part == each for part in parts) for each in expected)


def _without_sudo(words: list[str]) -> list[str]:
    rest = words[1:]
    while rest[0] in ("-n", "--non-interactive", "--") and len(rest) > 1:
        rest = rest[1:]
    return words if rest[0].startswith("-") else rest


def _normalize_unit(argv: list[str]) -> tuple[str, ...]:
    """Return a command for a unit in systemctl's form: `service x restart` counts too."""
    if argv[0] == "service" and len(argv) == 3:
        argv = ["systemctl", argv[2], argv[1]]
    if argv[0] == "systemctl" and len(argv) > 2 and argv[1] in _VERBS:
        argv[2:] = [word.removesuffix(".service") for word in argv[2:]]
    return tuple(argv)
