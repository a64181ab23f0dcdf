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
    for each in texts:
        before = held.get(each.path)
        if before is not None:
            if before == replace(each, id=before.id, updated_at=before.updated_at):
                continue
            await _remove(db, [before])
        values = {name: getattr(each, name) for name in _COLUMNS}
        insert = sa.insert(notebook_texts).values(home=home, **values)
        number = int(await db.fetch_val(insert.returning(notebook_texts.c.id)))
        await indexing.put(db, indexing.page_entry(replace(each, id=number), home))


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
