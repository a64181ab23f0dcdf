"""The index: MEMORY.md is rendered from the pages; what a person notes in it stays."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Final

from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.notebook.index import (
    NOTES_HEADING,
    RECENT,
    IndexFacts,
    PageSummary,
    render_index,
)
from lamplighter.domain.notebook.place import INDEX
from lamplighter.domain.search.search import NotebookText
from lamplighter.formats import notebook as markdown
from lamplighter.notebook.tree import digest_of
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.notebook import pages, texts
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult

PAGES_PER_SECTION: Final = 40
TITLE: Final = "Memory"


async def write_index(here: NotebookContext, result: SyncResult) -> None:
    """Write MEMORY.md where a page changed since it was written."""
    async with reading(here.db):
        stored = (await pages.stored(here.db, [INDEX])).get(INDEX)
        if stored is None or not stored.pending:
            return
        facts = await index_facts(here.db)
    text = index_text(facts, stored.text, cap=here.index_bytes)
    async with writing(here.db):  # whatever ends this process, its file is then known
        await pages.save(here.db, [replace(stored, text=text, previous=stored.text)])
    page = await asyncio.to_thread(_write, here, stored, text, result)
    if page is not None:
        async with writing(here.db):
            await pages.save(here.db, [page])
            notes = _notes_of(page, here.now())
            await texts.save(here.db, [notes] if notes.text else [])
            await texts.forget(here.db, [] if notes.text else [INDEX])


def _write(
    here: NotebookContext, stored: StoredPage, text: str, result: SyncResult
) -> StoredPage | None:
    digest = digest_of(text.encode())
    if digest == stored.digest:
        return replace(stored, text=text, pending=False)
    if not here.tree.write(INDEX, text, stored.digest):
        return None
    result.written.append(INDEX)
    return stored.replaced(text, digest, now=here.now())


def _notes_of(page: StoredPage, now: datetime) -> NotebookText:
    """Return what the search finds of the index: the notes, for the rest is on pages."""
    _, notes = markdown.split_section(page.text, NOTES_HEADING)
    return NotebookText(
        id=0, path=INDEX, title=TITLE, text=notes.strip(), project=None, updated_at=now
    )


def index_text(facts: IndexFacts, before: str, *, cap: int) -> str:
    """Return the index with the notes of the text before."""
    front = markdown.front_matter({"id": INDEX, "title": TITLE, "tags": ["index"]}).source
    _, notes = markdown.split_section(before, NOTES_HEADING)
    return render_index(facts, f"{front}\n# {TITLE}\n", notes, cap=cap)


async def index_facts(db: Database, project: str | None = None) -> IndexFacts:
    """Return what the index is made of; call it within `reading`.

    With a `project` it names only what that project may read.
    """
    by_section: dict[str, list[pages.PageCount]] = {}
    for each in await pages.counts(db, project):
        found = by_section.setdefault(each.path.partition("/")[0], [])
        found.append(each)
    named = [each for found in by_section.values() for each in found[:PAGES_PER_SECTION]]
    held = await memories.by_ids(db, [MemoryId(each.newest) for each in named])
    summaries = {
        section: [
            PageSummary(each.path, each.count, held[MemoryId(each.newest)])
            for each in found
            if each.newest in held
        ]
        for section, found in by_section.items()
    }
    return IndexFacts(summaries, await pages.recent(db, project, limit=RECENT))
