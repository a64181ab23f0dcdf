"""Runs of the organizer as people see them: what each changed, and how it is undone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.organize.plan import COMPRESSES, EXTRACTED_FROM, REPEATS
from lamplighter.domain.organize.run import MemorySubstitute, OrganizerRun, RunState
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.organize import runs
from lamplighter.usecases.memory import journal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """What a run changed, and the act that undid it."""

    run: OrganizerRun
    undone_by: int | None
    replacements: Sequence[MemorySubstitute]


async def get(db: Database, number: int) -> OrganizerRun:
    """Return a run; raises NotFound."""
    run = await runs.get(db, number)
    if run is None:
        raise NotFound(f"Run {number} of the organizer not found.")
    return run


async def undone(db: Database, found: Sequence[OrganizerRun]) -> dict[int, int]:
    """Return which of some runs were undone, each with the act that undid it."""
    acts = {each.act_id: each.id for each in found if each.act_id is not None}
    by = await runs.undone_by(db, list(acts))
    return {acts[act]: undo for act, undo in by.items()}


async def diff(db: Database, number: int) -> RunDiff:
    """Return what a run changed; raises NotFound."""
    async with reading(db):
        run = await get(db, number)
        undone_by = (await undone(db, [run])).get(run.id)
        groups: dict[tuple[str, int], list[int]] = {}
        for what in (REPEATS, COMPRESSES, EXTRACTED_FROM):
            for memory_id, target in await runs.links_of_act(db, run.act_id or 0, what):
                groups.setdefault((what, memory_id), []).append(target)
        ids = {MemoryId(memory_id) for _, memory_id in groups}
        held = {each.id: each for each in await memories.list_by_ids(db, sorted(ids))}
    replacements = [
        MemorySubstitute(
            id=number, memory=held.get(MemoryId(number)), what=what, replaced=tuple(some)
        )
        for (what, number), some in groups.items()
    ]
    return RunDiff(run=run, undone_by=undone_by, replacements=replacements)


async def undo(db: Database, number: int, *, now: datetime) -> journal.RevertResult:
    """Undo a run as one act: every memory is as it was; raises NotFound, Conflict."""
    run = await get(db, number)
    if run.state is not RunState.COMPLETED:
        raise Conflict(f"Run {number} has not ended.")
    if run.act_id is None:
        raise Conflict(f"Run {number} changed nothing.")
    return await journal.undo(db, run.act_id, now=now)
