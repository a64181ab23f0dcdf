"""Exits: what a program's exit status says, in words."""

from typing import Final

_SAID: Final = {
    126: "its command may not be run",
    127: "its command was not found",
    130: "interrupted",
    131: "quit by SIGQUIT",
    132: "an illegal instruction",
    134: "aborted by itself",
    135: "a bus error",
    137: "killed, by somebody or because memory ran out",
    139: "a segmentation fault",
    141: "nobody read what it wrote",
    143: "asked to end by somebody else",
    152: "it used up its CPU time",
    153: "its file grew too large",
}


def in_words(status: int | None) -> str:
    """Say how a program ended: its exit status, and what that means where it is known."""
    if status is None:
        return "exit not known"
    meaning = _SAID.get(status)
    if meaning is None and 128 < status < 128 + 65:
        meaning = f"ended by signal {status - 128}"
    return f"exit {status}: {meaning}" if meaning else f"exit {status}"
