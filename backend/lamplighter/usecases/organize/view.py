"""Runs of the organizer as people see them: their changes, and their undo."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.errors import Conflict, require
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.memory.review import Resolution, Review, ReviewState
from lamplighter.domain.organize.plan import COMPRESSES, EXTRACTED_FROM, REPEATS, in_run
from lamplighter.domain.organize.run import MemorySubstitute, OrganizerRun, RunState
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.access.journal import UNDO
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.organize import runs, sources
from lamplighter.usecases.memory import journal

SAMPLES: Final = 3
"""The number of replaced memories whose texts a diff contains."""
ROWS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """The changes of a run, the reviews that it opened, and the act that undid it."""

    run: OrganizerRun
    undone_by: int | None
    replacements: Sequence[MemorySubstitute]
    reviews: Sequence[Review] = ()


async def get(db: Database, number: int) -> OrganizerRun:
    """Return a run; raises NotFound."""
    return require(await runs.get(db, number), f"Run {number} of the organizer not found.")


async def undone(db: Database, found: Sequence[OrganizerRun]) -> dict[int, int]:
    """Return the acts that undid runs, by the number of the run."""
    acts = {each.act_id: each.id for each in found if each.act_id is not None}
    by = await runs.undone_by(db, list(acts))
    return {acts[act]: undo for act, undo in by.items()}


async def diff(db: Database, number: int) -> RunDiff:
    """Return the changes of a run; raises NotFound."""
    async with reading(db):
        run = await get(db, number)
        undone_by = (await undone(db, [run])).get(run.id)
        groups: dict[tuple[str, int], list[int]] = {}
        for what in (REPEATS, COMPRESSES, EXTRACTED_FROM):
            for memory_id, target in await runs.links_of_act(db, run.act_id or 0, what):
                groups.setdefault((what, memory_id), []).append(target)
        linked = {number for _, number in groups}
        created = await runs.created_by_act(db, run.act_id or 0)
        for memory_id in created:
            # created from a session, event or incident; nothing is left of a reverted run
            if memory_id not in linked and undone_by is None:
                groups[EXTRACTED_FROM, memory_id] = []
        samples = {number for some in groups.values() for number in some[:SAMPLES]}
        by_id: dict[MemoryId, Memory] = {}
        ids = sorted({number for _, number in groups} | samples)
        for at in range(0, len(ids), ROWS):
            some = await memories.list_by_ids(db, ids[at : at + ROWS])
            by_id |= {each.id: each for each in some}
        opened = await reviews.of_facts(db, created)
        opened += await reviews.with_reason(db, in_run(run.id))
    replacements = [
        MemorySubstitute(
            id=number,
            memory=by_id.get(MemoryId(number)),
            what=what,
            replaced=tuple(targets),
            samples=tuple(by_id[MemoryId(each)] for each in targets[:SAMPLES] if each in by_id),
        )
        for (what, number), targets in groups.items()
    ]
    return RunDiff(run=run, undone_by=undone_by, replacements=replacements, reviews=opened)


async def undo(db: Database, number: int, *, now: datetime) -> journal.RevertResult:
    """Undo a run as one act: restore every memory; raises NotFound, Conflict."""
    run = await get(db, number)
    if run.state is not RunState.COMPLETED:
        raise Conflict(f"Run {number} has not ended.")
    if run.act_id is None:
        raise Conflict(f"Run {number} changed nothing.")
    async with writing(db):
        done = await journal.undo(db, run.act_id, now=now)
        await sources.forget_run(db, run.id)
        await runs.publish(db, run, ChangeOp.UPDATED, now=now, undone_by=done.act)
        for each in await reviews.with_reason(db, in_run(run.id)):
            if each.state is ReviewState.OPEN:
                await reviews.resolve(db, each, Resolution.GONE, by=UNDO, now=now)
    return done
