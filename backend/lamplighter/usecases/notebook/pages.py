"""Write: pending pages become files, each as the memories are now."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.notebook.page import NotebookPage, PageText, line_of, merge
from lamplighter.domain.notebook.place import INDEX, PagePlace, owner_of, place_from, place_of
from lamplighter.domain.search.search import NotebookText
from lamplighter.formats import notebook as markdown
from lamplighter.notebook.tree import digest_of
from lamplighter.repository import writing
from lamplighter.repository.notebook import pages, texts
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.index import plan_index, write_index

PAGES_AT_ONCE: Final = 100
_TAGS: Final = {
    "services": "service",
    "projects": "project",
    "contacts": "contact",
    "infrastructure": "infrastructure",
    "decisions": "decision",
}


async def write_pages(
    here: NotebookContext, paths: Sequence[str], result: SyncResult, *, index: bool
) -> None:
    """Write pages as their memories are now, and with the last of them the `index`."""
    batches = [paths[at : at + PAGES_AT_ONCE] for at in range(0, len(paths), PAGES_AT_ONCE)]
    for some in batches[:-1]:
        await _write_some(here, some, result)
    await _write_some(here, batches[-1] if batches else (), result, index=index)


async def _write_some(
    here: NotebookContext, paths: Sequence[str], result: SyncResult, *, index: bool = False
) -> None:
    """Write some pages; that the index is to be written is stored with them."""
    done = await _write_files(here, paths, result) if paths else []
    gone = [page.path for page, text in done if text is None]
    async with writing(here.db):
        await pages.save(here.db, [page for page, _ in done if page.text])
        await texts.save(here.db, [text for _, text in done if text is not None])
        await pages.forget(here.db, gone)
        await texts.forget(here.db, gone)
        planned = await plan_index(here) if index else None
        if done and not index:
            await pages.mark_pending(here.db, [INDEX])
    if planned is not None:
        await write_index(here, planned, result)


async def _write_files(
    here: NotebookContext, paths: Sequence[str], result: SyncResult
) -> list[tuple[StoredPage, NotebookText | None]]:
    """Write files, but for those that hold an edit that was not read yet."""
    stored = await pages.stored(here.db, paths)
    rows = await pages.memories_on(here.db, paths)
    done = await asyncio.to_thread(
        lambda: [_write(here, stored[path], rows[path], result) for path in paths]
    )
    return [each for each in done if each is not None]


def _write(
    here: NotebookContext, page: StoredPage, rows: Sequence[Memory], result: SyncResult
) -> tuple[StoredPage, NotebookText | None] | None:
    """Write one file, and return what is stored of it: its state, and what people wrote on it.

    None where it holds an edit that was not read yet.
    """
    now = here.now()
    merged = _merged(page, rows)
    if merged is None:
        if not here.tree.remove(page.path, page.digest):
            return None
        if page.digest:
            result.removed.append(page.path)
        return page.replaced("", "", now=now), None
    text = markdown.render(merged)
    found = _text_of(page.path, merged, now)
    digest = digest_of(text.encode("utf-8", "surrogatepass"))
    if digest == page.digest:
        return replace(page, text=text, pending=False), found
    if not here.tree.write(page.path, text, page.digest):
        return None
    result.written.append(page.path)
    return page.replaced(text, digest, now=now), found


def _merged(page: StoredPage, rows: Sequence[Memory]) -> NotebookPage | None:
    """Return a page as the memories are now; None for one that has nothing to say."""
    found = markdown.parse(page.text) if page.text else _new_page(rows)
    merged = merge(found, [line_of(each) for each in rows])
    empty = not rows and (not page.text or _is_empty(page.path, merged))
    return None if empty or not markdown.render(merged) else merged


def _text_of(path: str, page: NotebookPage, now: datetime) -> NotebookText:
    """Return what the search finds of a page."""
    place = place_from(path, page.name)
    return NotebookText(
        id=0,
        path=path,
        title=place.name if place else path,
        text=markdown.prose(page),
        project=owner_of(path, page.name),
        updated_at=now,
    )


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
