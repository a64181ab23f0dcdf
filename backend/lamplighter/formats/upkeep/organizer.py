"""Runs of the organizer as JSON."""

from collections.abc import Sequence
from typing import Any, Final

from lamplighter.domain.organize.run import MemorySubstitute, OrganizerRun
from lamplighter.formats import serialize

SAMPLE_CHARS: Final = 300
_run: Final = serialize.Writer[OrganizerRun]()


def run(each: OrganizerRun, undone_by: int | None = None) -> dict[str, Any]:
    """Return a run as JSON, with the act that undid it."""
    return {**_run(each), "undone_by": undone_by}


def diff(
    each: OrganizerRun, undone_by: int | None, replacements: Sequence[MemorySubstitute]
) -> dict[str, Any]:
    """Return a run with its changes as JSON."""
    changed = [
        {
            "id": some.id,
            "what": some.what,
            "memory": None if some.memory is None else serialize.memory(some.memory),
            "replaced": list(some.replaced),
            "samples": [
                {"id": each.id, "observation": each.observation[:SAMPLE_CHARS]}
                for each in some.samples
            ],
        }
        for some in replacements
    ]
    return {**run(each, undone_by), "replacements": changed}
