"""The last written state of each page, and the page of each memory.

Every home has its own tree: all rows belong to the home that the database is opened for.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import Memory, Trust
from lamplighter.domain.notebook import INDEX
from lamplighter.repository.memory.listing import lasts
from lamplighter.repository.memory.memories import from_row, visible_to
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database, home_of
from lamplighter.repository.store.dialect import AmongIds
from lamplighter.repository.store.statements import Statement, prepare_insert, prepare_upsert
from lamplighter.repository.store.tables import (
    memories,
    notebook_lines,
    notebook_pages,
    notebook_positions,
    reader,
)

ENTITY: Final = "notebook"
EARLIER: Final = 20
"""The number of earlier versions of a page that are recognized when restored."""

NEWEST_ROWS: Final = 200
"""The number of last changed rows that are searched for recent memories first."""

_INSERT_LINE: Final = prepare_insert(notebook_lines, "home", "memory_id", "path")
_PUT_PAGE: Final = prepare_upsert(notebook_pages)
_PUT_POSITION: Final = prepare_upsert(notebook_positions)
_HOME: Final = sa.bindparam("home", type_=sa.Text)
_IDS: Final = AmongIds(notebook_lines.c.memory_id, sa.bindparam("ids", type_=sa.Text))
_DELETE_LINES: Final = Statement(
    sa.delete(notebook_lines).where(notebook_lines.c.home == _HOME).where(_IDS), long=True
)
_DELETE_PAGE: Final = Statement(
    sa.delete(notebook_pages)
    .where(notebook_pages.c.home == _HOME)
    .where(notebook_pages.c.path == sa.bindparam("path", type_=sa.Text))
)
_POSITION: Final = Statement(
    sa.select(
        *changes.BOUNDS,
        *(
            sa.select(each).where(notebook_positions.c.home == _HOME).scalar_subquery().label(name)
            for name, each in notebook_positions.c.items()
        ),
    )
)
_STATES: Final = Statement(
    sa.select(notebook_pages.c.path, notebook_pages.c.digest, notebook_pages.c.pending)
    .where(notebook_pages.c.home == _HOME)
    .order_by(notebook_pages.c.path)
)
_PENDING: Final = Statement(
    sa.select(notebook_pages)
    .where(notebook_pages.c.home == _HOME)
    .where(
        sa.or_(
            notebook_pages.c.path == INDEX,
            sa.and_(
                notebook_pages.c.pending == sa.literal_column("1"),
                notebook_pages.c.path > sa.bindparam("after", type_=sa.Text),
            ),
        )
    )
    .order_by(notebook_pages.c.path)
    .limit(sa.bindparam("limit", type_=sa.BigInteger))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page as it was last written or read.

    `previous` is the text before that. `digest` is the hash of the file, "" if there is none;
    `earlier` are hashes of older versions. While `pending`, the file is still to be written.
    """

    path: str
    text: str = ""
    previous: str = ""
    digest: str = ""
    earlier: tuple[str, ...] = ()
    pending: bool = False
    written_at: datetime | None = None

    def replaced(self, text: str, digest: str, *, now: datetime) -> "StoredPage":
        """Return the page after a new text was written to its file."""
        earlier = (self.digest, *self.earlier) if self.digest else self.earlier
        unique = tuple(each for each in dict.fromkeys(earlier) if each != digest)
        return replace(
            self,
            text=text,
            previous=self.text,
            digest=digest,
            earlier=unique[:EARLIER],
            pending=False,
            written_at=now,
        )


@dataclass(frozen=True, slots=True)
class NotebookPosition:
    """The last processed change; `memory_id` is set while memories are read for the first time.

    `is_last` is whether no later change exists.
    """

    seq: int
    memory_id: int | None = 0
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page without its text."""

    digest: str
    pending: bool


async def states(db: Database) -> dict[str, PageState]:
    """Return the state of every page, by path."""
    rows = await db.fetch_all(_STATES(home=home_of(db)))
    return {row["path"]: PageState(row["digest"], row["pending"]) for row in rows}


async def pending(db: Database, *, after: str, limit: int) -> dict[str, StoredPage]:
    """Return the pending pages after a path, and always the index.

    Fewer than `limit` pages mean that there are no more.
    """
    rows = await db.fetch_all(_PENDING(home=home_of(db), after=after, limit=limit + 1))
    return {row["path"]: _from_row(row) for row in rows}


async def stored(db: Database, paths: Collection[str]) -> dict[str, StoredPage]:
    """Return those of some pages that exist, by path."""
    if not paths:
        return {}
    query = (
        sa.select(notebook_pages)
        .where(notebook_pages.c.home == home_of(db))
        .where(notebook_pages.c.path.in_(paths))
    )
    return {row["path"]: _from_row(row) for row in await db.fetch_all(query)}


async def save(db: Database, pages: Iterable[StoredPage]) -> None:
    """Store the current state of pages; call it within `writing`."""
    rows = [{**asdict(page), "home": home_of(db)} for page in pages]
    await db.run_many(_PUT_PAGE, rows)


async def forget(db: Database, paths: Collection[str]) -> None:
    """Remove pages that have no file any more; call it within `writing`."""
    await db.run_many(_DELETE_PAGE, [{"home": home_of(db), "path": path} for path in paths])


async def mark_pending(db: Database, paths: Collection[str]) -> None:
    """Mark pages as pending; call it within `writing`."""
    if not paths:
        return
    update = (
        sa.update(notebook_pages)
        .where(notebook_pages.c.home == home_of(db))
        .where(notebook_pages.c.path.in_(paths))
        .values(pending=1)
        .returning(notebook_pages.c.path)
    )
    known = {row["path"] for row in await db.fetch_all(update)}
    await save(db, (StoredPage(path=each, pending=True) for each in paths if each not in known))


async def publish(db: Database, count: int, *, now: datetime) -> None:
    """Publish the number of pages whose files changed, without their names, which are private.

    Call it within `writing`, after the files were written: readers load them again.
    """
    await changes.append(db, ENTITY, 0, ChangeOp.UPDATED, now=now, row={"pages": count})


async def place(db: Database, places: Mapping[int, str | None]) -> None:
    """Store the page of each memory, None for no page; call it within `writing`."""
    if not places:
        return
    home = home_of(db)
    await db.execute(_DELETE_LINES(home=home, ids=json.dumps(list(places))))
    rows = [{"home": home, "memory_id": n, "path": path} for n, path in places.items() if path]
    await db.run_many(_INSERT_LINE, rows)


async def memories_on(db: Database, paths: Sequence[str]) -> dict[str, list[Memory]]:
    """Return the memories of pages, ordered by category and ID."""
    by_path: dict[str, list[Memory]] = {path: [] for path in paths}
    query = (
        sa.select(memories, notebook_lines.c.path.label("page"))
        .join(notebook_lines, notebook_lines.c.memory_id == memories.c.id)
        .where(notebook_lines.c.home == home_of(db))
        .where(notebook_lines.c.path.in_(paths))
        .order_by(memories.c.category, memories.c.id)
    )
    for row in await db.fetch_all(query):
        by_path[row["page"]].append(from_row(row))
    return by_path


@dataclass(frozen=True, slots=True)
class PageCount:
    """The number of memories on a page, and the ID of the newest memory."""

    path: str
    count: int
    newest: int


async def counts(
    db: Database, project: str | None = None, *, now: datetime | None = None
) -> list[PageCount]:
    """Return the pages with memories that a project may read, the newest memory first."""
    newest = sa.func.max(notebook_lines.c.memory_id)
    query = (
        sa.select(notebook_lines.c.path, sa.func.count().label("many"), newest.label("newest"))
        .where(notebook_lines.c.home == home_of(db))
        .group_by(notebook_lines.c.path)
        .order_by(newest.desc(), notebook_lines.c.path)
    )
    if project is not None:
        query = query.join(memories, memories.c.id == notebook_lines.c.memory_id)
        query = query.where(*_listed(project, now))
    rows = await db.fetch_all(query)
    return [PageCount(row["path"], row["many"], row["newest"]) for row in rows]


def _listed(project: str | None, now: datetime | None) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of an index; for a project, only what prompts may include.

    That is distilled, not unverified and, at `now`, not expired, as in the profile of the project.
    """
    if project is None:
        return list(visible_to(None, memories.c))
    trusted = memories.c.trust != Trust.UNVERIFIED.value
    lasting = [] if now is None else [lasts(now)]
    return [*visible_to(project, memories.c), memories.c.distilled == 1, trusted, *lasting]


async def recent(
    db: Database, project: str | None = None, *, limit: int, now: datetime | None = None
) -> list[tuple[str, Memory]]:
    """Return the last changed memories that a project may read, with their pages.

    Usually these are among the last changed rows; otherwise all rows are read.
    """
    order = (memories.c.updated_at.desc(), memories.c.id.desc())
    newest = sa.select(memories.c.id).order_by(*order).limit(NEWEST_ROWS).subquery()
    query = (
        sa.select(memories, notebook_lines.c.path.label("page"))
        .join(notebook_lines, notebook_lines.c.memory_id == memories.c.id)
        .where(notebook_lines.c.home == home_of(db))
        .where(*_listed(project, now))
        .order_by(*order)
        .limit(limit)
    )
    rows = await db.fetch_all(query.join(newest, newest.c.id == memories.c.id))
    if len(rows) < limit:
        rows = await db.fetch_all(query)
    return [(row["page"], from_row(row)) for row in rows]


async def position(db: Database) -> NotebookPosition:
    """Return the position in the change feed; a new start if changes were missed."""
    row: Any = await db.fetch_one(_POSITION(home=home_of(db)))
    if row["seq"] is None or changes.is_outside(row["seq"], row):
        return NotebookPosition(row["last"])
    at = NotebookPosition(row["seq"], row["memory_id"])
    return replace(at, is_last=at.memory_id is None and at.seq == row["last"])


async def move_position(db: Database, at: NotebookPosition) -> None:
    """Store the position in the change feed; call it within `writing`."""
    await db.execute(_PUT_POSITION(home=home_of(db), seq=at.seq, memory_id=at.memory_id))


_from_row: Final = reader(StoredPage)
