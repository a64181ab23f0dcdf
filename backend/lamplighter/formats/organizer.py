"""Runs of the organizer as JSON."""

from collections.abc import Sequence
from typing import Any, Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.organize.run import OrganizerRun
from lamplighter.formats import serialize

_run: Final = serialize.writer(OrganizerRun)


def run(each: OrganizerRun, undone_by: int | None = None) -> dict[str, Any]:
    """Return a run as JSON, with the act that undid it."""
    return {**_run(each), "undone_by": undone_by}


def replacement(
    number: int, memory: Memory | None, what: str, replaced: Sequence[int]
) -> dict[str, Any]:
    """Return as JSON which memories a memory replaced in a run."""
    held = None if memory is None else serialize.memory(memory)
    return {"id": number, "what": what, "memory": held, "replaced": list(replaced)}
