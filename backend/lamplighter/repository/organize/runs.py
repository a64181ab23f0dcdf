"""The runs of the organizer: owner, progress and counts."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.memory import InactiveReason, Memory, Source
from lamplighter.domain.organize.plan import EXTRACTED_FROM
from lamplighter.domain.organize.run import (
    COUNTED,
    OPTIONAL_COUNTED,
    OrganizerRun,
    RunState,
    StageProgress,
)
from lamplighter.domain.text import comparison_key
from lamplighter.formats.upkeep import organizer as as_json
from lamplighter.repository.access.journal import UNDO
from lamplighter.repository.memory.memories import from_row
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Page, Rows, count_by, values_of
from lamplighter.repository.store.tables import (
    KNOWLEDGE,
    acts,
    history,
    links,
    memories,
    organizer_runs,
    reader,
)
from lamplighter.repository.store.unreadable import from_fields, readable

ENTITY: Final = "organizer_run"
PAGE_ROWS: Final = 1_000
_rows: Final = Rows(organizer_runs, reader(OrganizerRun))


async def insert(
    db: Database, *, trigger: str, owner: str, act_id: int, raw: int, now: datetime
) -> OrganizerRun:
    """Start a run, or queue it if `owner` is empty; call it within `writing`."""
    run = await _rows.store(
        db,
        state=RunState.RUNNING if owner else RunState.QUEUED,
        trigger=trigger,
        started_at=now,
        heartbeat_at=now,
        act_id=act_id,
        owner=owner,
        counts={"raw": raw},
    )
    await publish(db, run, ChangeOp.CREATED, now=now)
    return run


async def unfinished(db: Database) -> OrganizerRun | None:
    """Return the queued or running run."""
    return await _rows.last(db, organizer_runs.c.state != RunState.COMPLETED)


async def get(db: Database, number: int) -> OrganizerRun | None:
    """Return one run."""
    return await _rows.get(db, number)


async def newest(db: Database) -> OrganizerRun | None:
    """Return the run that started last."""
    return await _rows.last(db)


async def page(
    db: Database, *, limit: int, position: Sequence[Any] | None = None
) -> Page[OrganizerRun]:
    """Return one page of the runs, newest first."""
    return await _rows.page(db, limit=limit, position=position)


async def take_over(db: Database, run: OrganizerRun, owner: str, *, now: datetime) -> None:
    """Start a queued run, or continue a run that another process started."""
    values = {"state": RunState.RUNNING, "owner": owner}
    await publish(db, await _update(db, run, **values, heartbeat_at=now), ChangeOp.UPDATED, now=now)


async def beat(db: Database, run: OrganizerRun, progress: StageProgress, *, now: datetime) -> None:
    """Record the heartbeat and the progress of a run; call it within `writing`.

    The feed receives a run with progress: a run that waits for a model adds nothing to the feed.
    """
    before = await _current(db, run)
    if before is None:
        return
    where = {"stage": progress.stage, "stage_done": progress.done, "stage_total": progress.total}
    beating = await _update(db, run, heartbeat_at=now, **where)
    if before != replace(beating, heartbeat_at=before.heartbeat_at):
        await publish(db, beating, ChangeOp.UPDATED, now=now)


async def publish(
    db: Database, run: OrganizerRun, op: ChangeOp, *, now: datetime, undone_by: int | None = None
) -> None:
    """Publish a run in the feed; call it within `writing`."""
    row = as_json.run(run, undone_by)
    await changes.append(db, ENTITY, run.id, op, now=now, row=row)


async def _current(db: Database, run: OrganizerRun) -> OrganizerRun | None:
    """Return the stored state of a running run; None if another process has continued it."""
    columns = organizer_runs.c
    running = columns.state == RunState.RUNNING
    return await _rows.one(db, columns.id == run.id, columns.owner == run.owner, running)


async def _update(db: Database, run: OrganizerRun, **values: Any) -> OrganizerRun:
    statement = sa.update(organizer_runs).where(organizer_runs.c.id == run.id).values(**values)
    return _rows.read(await db.fetch_one(statement.returning(organizer_runs)))


async def record(
    db: Database, run: OrganizerRun, added: Counter[str], *, now: datetime
) -> OrganizerRun:
    """Add to the counts of a run, in the transaction of the counted changes.

    Raises Conflict if another process has continued the run.
    """
    current = await _current(db, run)
    if current is None:
        raise Conflict(f"Another process continues run {run.id}.")
    held = current.counts
    counts = {name: held.get(name, 0) + added[name] for name in COUNTED}
    used = {name: held.get(name, 0) + added[name] for name in OPTIONAL_COUNTED}
    counts |= {name: number for name, number in used.items() if number}
    return await _update(db, run, counts=counts, heartbeat_at=now)


async def finish(
    db: Database, run: OrganizerRun, *, act_id: int | None, raw: int, distilled: int, now: datetime
) -> OrganizerRun:
    """Complete a run; `act_id` is None if the run changed nothing."""
    completed = await _update(
        db,
        run,
        state=RunState.COMPLETED,
        ended_at=now,
        heartbeat_at=now,
        act_id=act_id,
        counts={**run.counts, "raw_after": raw, "distilled_after": distilled},
        stage=None,
        stage_done=0,
        stage_total=0,
    )
    await publish(db, completed, ChangeOp.UPDATED, now=now)
    return completed


async def undone_by(db: Database, ids: Collection[int]) -> dict[int, int]:
    """Return those of some acts that were undone, each with the act that undid it."""
    query = sa.select(acts.c.undoes, acts.c.id).where(
        acts.c.undoes.in_(list(ids)), acts.c.action == UNDO, acts.c.changed.is_not(None)
    )
    return {row["undoes"]: row["id"] for row in await db.fetch_all(query)}


async def links_of_act(db: Database, act_id: int, what: str) -> list[tuple[int, int]]:
    """Return the links of one kind that an act created: memory and target."""
    query = (
        sa.select(links.c.memory_id, links.c.target_id)
        .where(links.c.act_id == act_id, links.c.what == what)
        .order_by(links.c.id)
    )
    return [(row["memory_id"], row["target_id"]) for row in await db.fetch_all(query)]


async def created_by_act(db: Database, act_id: int) -> list[int]:
    """Return the memories that an act created."""
    made = (history.c.act_id == act_id, history.c.cause == "created")
    return await values_of(db, history.c.memory_id, *made)


async def count_knowledge(db: Database) -> tuple[int, int]:
    """Return the number of active knowledge memories that are undistilled, and distilled."""
    counts = await count_by(db, memories.c.distilled, *_ACTIVE)
    return counts.get(False, 0), counts.get(True, 0)


async def active_knowledge(db: Database) -> AsyncIterator[list[Memory]]:
    """Yield the active knowledge memories in batches, ordered by ID."""
    last = 0
    query = sa.select(memories).where(*_ACTIVE).order_by(memories.c.id).limit(PAGE_ROWS)
    while rows := await db.fetch_all(query.where(memories.c.id > last)):
        last = rows[-1]["id"]
        yield [from_fields(row) for row in readable(rows)]


async def waiting_facts(db: Database) -> list[Memory]:
    """Return the extracted facts that contradict a memory and wait for a review."""
    query = sa.select(memories).where(*_WAITING).order_by(memories.c.id)
    return [from_fields(row) for row in readable(await db.fetch_all(query))]


async def waiting_episodes(db: Database) -> set[int]:
    """Return the episodes of facts that wait for a review: they stay until then."""
    waiting = links.c.memory_id.in_(sa.select(memories.c.id).where(*_WAITING))
    return set(await values_of(db, links.c.target_id, links.c.what == EXTRACTED_FROM, waiting))


async def facts_of(db: Database, episodes: Collection[int]) -> set[tuple[int, str]]:
    """Return the keys of all facts extracted from some episodes, including rejected facts."""
    query = (
        sa.select(links.c.target_id, memories.c.observation)
        .join(memories, memories.c.id == links.c.memory_id)
        .where(links.c.what == EXTRACTED_FROM, links.c.target_id.in_(episodes))
    )
    rows = await db.fetch_all(query)
    return {(row["target_id"], comparison_key(row["observation"])) for row in rows}


async def by_topic_keys(db: Database, project: str, keys: Collection[str]) -> dict[str, Memory]:
    """Return the active memories of a project with any of some topic keys."""
    query = sa.select(memories).where(
        *_ACTIVE, memories.c.project == project, memories.c.topic_key.in_(sorted(keys))
    )
    found = [from_row(row) for row in await db.fetch_all(query)]
    return {str(each.topic_key): each for each in found}


_ACTIVE: Final = (memories.c.active == 1, sa.text(KNOWLEDGE))
_WAITING: Final = (
    memories.c.source == Source.EXTRACTED,
    memories.c.inactive_reason == InactiveReason.REVIEW,
)
