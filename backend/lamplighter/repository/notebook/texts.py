"""The text that people wrote on each page, with the search index in step."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.search.search import NotebookText, SearchLayer
from lamplighter.repository.feed import indexing
from lamplighter.repository.store.database import Database, home_of
from lamplighter.repository.store.entities import reader
from lamplighter.repository.store.tables import BASES, notebook_texts, terms

_read: Final = reader(NotebookText)
_COLUMNS: Final = ("path", "title", "text", "project", "updated_at")


async def save(db: Database, texts: Sequence[NotebookText]) -> None:
    """Store those that changed, whatever their numbers are; call it within `writing`."""
    held, home = await _stored(db, [each.path for each in texts]), home_of(db)
    changed = {each.path: each for each in texts if not _is_same(held.get(each.path), each)}
    if not changed:
        return
    await _remove(db, [held[path] for path in changed if path in held])
    rows = [
        {"home": home, **{name: getattr(each, name) for name in _COLUMNS}}
        for each in changed.values()
    ]
    insert = sa.insert(notebook_texts).values(rows)
    stored = await db.fetch_all(insert.returning(notebook_texts.c.id, notebook_texts.c.path))
    numbered = (replace(changed[row["path"]], id=row["id"]) for row in stored)
    await indexing.put_all(db, [indexing.page_entry(each, home) for each in numbered])


def _is_same(before: NotebookText | None, text: NotebookText) -> bool:
    """Whether a text is stored already."""
    return before == replace(
        text,
        id=before.id if before else 0,
        updated_at=before.updated_at if before else text.updated_at,
    )


async def forget(db: Database, paths: Collection[str]) -> None:
    """Forget the texts of pages that are gone; call it within `writing`."""
    await _remove(db, list((await _stored(db, paths)).values()))


async def _stored(db: Database, paths: Collection[str]) -> dict[str, NotebookText]:
    if not paths:
        return {}
    table = notebook_texts
    query = sa.select(table).where(table.c.home == home_of(db)).where(table.c.path.in_(paths))
    return {row["path"]: _read(row) for row in await db.fetch_all(query)}


async def _remove(db: Database, texts: Sequence[NotebookText]) -> None:
    ids = [each.id for each in texts]
    if not ids:
        return
    numbers = [each + BASES[SearchLayer.PAGE] for each in ids]
    await db.execute(sa.delete(terms).where(terms.c.id.in_(numbers)))
    await db.execute(sa.delete(notebook_texts).where(notebook_texts.c.id.in_(ids)))
