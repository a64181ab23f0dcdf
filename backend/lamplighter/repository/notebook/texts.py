"""The text that people wrote on each page, synchronized with the search index."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.search.search import NotebookText, SearchLayer
from lamplighter.repository.feed import indexing
from lamplighter.repository.store.database import Database, home_of
from lamplighter.repository.store.tables import BASES, notebook_texts, reader, terms

_read: Final = reader(NotebookText)
_COLUMNS: Final = ("path", "title", "text", "project", "updated_at")


async def replace_texts(db: Database, texts: Sequence[NotebookText], gone: Collection[str]) -> None:
    """Store the texts that changed, whatever their IDs, and remove those of pages `gone`.

    Call it within `writing`.
    """
    there, home = {each.path for each in texts}, home_of(db)
    held = await _stored(db, {*there, *gone})
    changed = {each.path: each for each in texts if not _is_same(held.get(each.path), each)}
    away = changed.keys() | (set(gone) - there)
    await _remove(db, [text for path, text in held.items() if path in away])
    if not changed:
        return
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
