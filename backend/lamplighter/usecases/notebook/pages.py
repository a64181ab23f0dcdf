"""Write: pending pages become files, each as the memories are now."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.notebook.page import NotebookPage, PageText, line_of, merge
from lamplighter.domain.notebook.place import INDEX, PagePlace, owner_of, place_from, place_of
from lamplighter.domain.search.search import NotebookText
from lamplighter.formats import notebook as markdown
from lamplighter.notebook.tree import digest_of
from lamplighter.repository import reading, writing
from lamplighter.repository.notebook import pages, texts
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult

PAGES_AT_ONCE: Final = 100
_TAGS: Final = {
    "services": "service",
    "projects": "project",
    "contacts": "contact",
    "infrastructure": "infrastructure",
    "decisions": "decision",
}


async def write_pending(here: NotebookContext, held: Collection[str], result: SyncResult) -> None:
    """Write the pages that changed, but for held ones, and then the index."""
    async with reading(here.db):
        states = await pages.states(here.db)
    waiting = [path for path, each in states.items() if each.pending and path not in held]
    for at in range(0, len(waiting), PAGES_AT_ONCE):
        await _write_some(here, waiting[at : at + PAGES_AT_ONCE], result)


async def _write_some(here: NotebookContext, paths: Sequence[str], result: SyncResult) -> None:
    """Write some pages; that the index is to be written is stored with them."""
    some = [path for path in paths if path != INDEX]
    async with reading(here.db):
        stored = await pages.stored(here.db, some)
        rows = await pages.memories_on(here.db, some)
    done = await asyncio.to_thread(
        lambda: [_write(here, stored[path], rows[path], result) for path in some]
    )
    kept = [each for each in done if each is not None]
    there = [each for each in kept if each.text]
    found = await asyncio.to_thread(lambda: [_text_of(each, here.now()) for each in there])
    async with writing(here.db):
        await pages.save(here.db, there)
        await texts.save(here.db, found)
        gone = [each.path for each in kept if not each.text]
        await pages.forget(here.db, gone)
        await texts.forget(here.db, gone)
        if kept:
            await pages.mark_pending(here.db, [INDEX])


def _write(
    here: NotebookContext, page: StoredPage, rows: Sequence[Memory], result: SyncResult
) -> StoredPage | None:
    """Write one file; None where it holds an edit that was not read yet."""
    now = here.now()
    text = page_text(page, rows)
    if not text:
        if not here.tree.remove(page.path, page.digest):
            return None
        if page.digest:
            result.removed.append(page.path)
        return page.replaced("", "", now=now)
    digest = digest_of(text.encode("utf-8", "surrogatepass"))
    if digest == page.digest:
        return replace(page, text=text, pending=False)
    if not here.tree.write(page.path, text, page.digest):
        return None
    result.written.append(page.path)
    return page.replaced(text, digest, now=now)


def _text_of(page: StoredPage, now: datetime) -> NotebookText:
    """Return what the search finds of a page."""
    parsed = markdown.parse(page.text)
    place = place_from(page.path, parsed.name)
    return NotebookText(
        id=0,
        path=page.path,
        title=place.name if place else page.path,
        text=markdown.prose(parsed),
        project=owner_of(page.path, parsed.name),
        updated_at=now,
    )


def page_text(page: StoredPage, rows: Sequence[Memory]) -> str:
    """Return a page as the memories are now; empty for one that has nothing to say."""
    found = markdown.parse(page.text) if page.text else _new_page(rows)
    merged = merge(found, [line_of(each) for each in rows])
    if not rows and (not page.text or _is_empty(page.path, merged)):
        return ""
    return markdown.render(merged)


def _is_empty(path: str, page: NotebookPage) -> bool:
    """Whether a page has only what every new page has: its front matter and its heading."""
    place = place_from(path, page.name)
    text = markdown.render(page)
    return place is None or text.strip() == "".join(_opening(place)).strip()


def _new_page(rows: Sequence[Memory]) -> NotebookPage:
    if not rows:
        return NotebookPage()
    place = place_of(rows[0])
    return NotebookPage(tuple(PageText(each) for each in _opening(place)), place.name, place.name)


def _opening(place: PagePlace) -> Iterator[str]:
    values: dict[str, Any] = {"id": place.path, "title": place.name, "name": place.name}
    yield markdown.front_matter({**values, "tags": [_TAGS[place.section]]}).source
    yield f"\n# {place.name}\n\n[[{INDEX}]]\n\n"
