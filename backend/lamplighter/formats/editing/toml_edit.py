"""Edits of the settings file: the line of a setting; every other byte stays."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from lamplighter.domain.errors import Conflict

CANNOT: Final = "The app cannot change this line of the file. Edit the file in a text editor."
_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_VALUE: Final = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^#\r\n]*?)"""


def read_toml(text: str) -> dict[str, Any]:
    """Return the values of the file; raises Conflict if it cannot be read."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"The settings file cannot be read: {error}.") from error


def edit_toml(text: str, lines: Mapping[str, str | None]) -> str:
    """Return the file with new lines for some keys; None removes one.

    Raises Conflict if the edit would have another effect.
    """
    target = read_toml(text)
    edited = text
    for name, line in lines.items():
        edited = _edit(edited, name, line)
        target.pop(name, None)
        target |= tomllib.loads(line) if line is not None else {}
    try:
        if tomllib.loads(edited) == target:
            return edited
    except tomllib.TOMLDecodeError as error:
        raise Conflict(CANNOT) from error
    raise Conflict(CANNOT)


def _edit(text: str, name: str, line: str | None) -> str:
    header = _HEADER.search(text)
    end = header.start() if header else len(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    key = (
        rf"""^([ \t]*["']?{re.escape(name)}["']?[ \t]*=[ \t]*){_VALUE}([ \t]*(?:#.*)?)(\r?\n|\Z)"""
    )
    found = re.compile(key, re.MULTILINE).search(text, 0, end)
    if found and line is None:
        return text[: found.start()] + text[found.end() :]
    if found and line is not None:
        value = line.partition(" = ")[2]
        return text[: found.start(2)] + value + text[found.end(2) :]
    if line is None:
        return text
    start = len(text[:end].rstrip())
    start = text.find("\n", start) + 1 if "\n" in text[start:end] else end
    before = text[:start]
    gap = newline if before and not before.endswith("\n") else ""
    after = newline if text[start:end].strip() == "" and header and start == end else ""
    return before + gap + line + newline + after + text[start:]
