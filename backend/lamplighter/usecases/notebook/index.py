"""The index: MEMORY.md is rendered from the pages; notes by people are preserved."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from lamplighter.repository.notebook import pages
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult

PAGES_PER_SECTION: Final = 40
TITLE: Final = "Memory"


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The stored index and the new one; `notes` is its searchable text."""

    stored: StoredPage
    page: StoredPage
    notes: Sequence[NotebookText]


async def index_is_due(here: NotebookContext, stored: StoredPage) -> bool:
    """Whether the index must be written: a page changed, or it exceeds a limit set since."""
    if stored.pending or len(stored.text.encode()) <= here.index_bytes:
        return stored.pending
    async with reading(here.db):
        facts = await index_facts(here.db)
    return index_text(facts, stored.text, cap=here.index_bytes) != stored.text  # long notes stay


async def plan_index(here: NotebookContext, stored: StoredPage) -> IndexPlan | None:
    """Store the current index, and return it if its file must be written.

    Call within `writing`, before the file is written: its text is then known even if the process is
    killed.
    """
    text = index_text(await index_facts(here.db), stored.text, cap=here.index_bytes)
    page = stored.replaced(text, digest_of(text.encode()), now=here.now())
    if page.digest == stored.digest:
        await pages.save(here.db, [replace(stored, text=text, pending=False)])
        return None
    # a missing new file must not look like a removal by a person
    await pages.save(here.db, [page if stored.digest else replace(page, digest="", pending=True)])
    return IndexPlan(stored, page, _notes(page, here.now()))


async def write_index(here: NotebookContext, plan: IndexPlan, result: SyncResult) -> None:
    """Write MEMORY.md, unless it contains an edit that was not read yet."""
    before = plan.stored.digest
    if await asyncio.to_thread(here.tree.write, INDEX, plan.page.text, before):
        result.written.append(INDEX)
        if not before:
            async with writing(here.db):
                await pages.save(here.db, [plan.page])


def _notes(page: StoredPage, now: datetime) -> Sequence[NotebookText]:
    """Return the searchable text of the index: only its notes, because the rest is on pages."""
    _, notes = markdown.split_section(page.text, NOTES_HEADING)
    text = NotebookText(
        id=0, path=INDEX, title=TITLE, text=notes.strip(), project=None, updated_at=now
    )
    return [text] if text.text else []


def index_text(facts: IndexFacts, before: str, *, cap: int) -> str:
    """Return the index with the notes of the previous text."""
    front = markdown.front_matter({"id": INDEX, "title": TITLE, "tags": ["index"]}).source
    _, notes = markdown.split_section(before, NOTES_HEADING)
    return render_index(facts, f"{front}\n# {TITLE}\n", notes, cap=cap)


async def index_facts(
    db: Database, project: str | None = None, *, now: datetime | None = None
) -> IndexFacts:
    """Return the data of the index; call it within `reading`.

    With a `project` it contains only pages that this project may read, not expired at `now`.
    """
    by_section: dict[str, list[pages.PageCount]] = {}
    for each in await pages.counts(db, project, now=now):
        entries = by_section.setdefault(each.path.partition("/")[0], [])
        entries.append(each)
    named = [each for entries in by_section.values() for each in entries[:PAGES_PER_SECTION]]
    held = await memories.by_ids(db, [MemoryId(each.newest) for each in named])
    summaries = {
        section: [
            PageSummary(each.path, each.count, held[MemoryId(each.newest)])
            for each in entries
            if each.newest in held
        ]
        for section, entries in by_section.items()
    }
    return IndexFacts(summaries, await pages.recent(db, project, limit=RECENT, now=now))
