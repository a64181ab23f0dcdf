"""Synchronization: edits are read first, then pages are written; never in the other order."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.notebook.page import NotebookPage, PageText, line_of, merge
from lamplighter.domain.notebook.place import INDEX, PagePlace, owner_of, place_from, place_of
from lamplighter.domain.search.search import NotebookText
from lamplighter.domain.services.event import Level
from lamplighter.domain.text import escape_terminal
from lamplighter.formats import notebook as markdown
from lamplighter.notebook.git import GitError, GitHistory
from lamplighter.notebook.tree import digest_of
from lamplighter.repository import writing
from lamplighter.repository.notebook import pages, texts
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.repository.services import events
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.batches import Write, writing_in_background
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.edits import SOURCE, read_edits
from lamplighter.usecases.notebook.following import follow
from lamplighter.usecases.notebook.index import index_is_due, plan_index, write_index

logger = logging.getLogger(__name__)


async def sync(
    here: NotebookContext, *, by_person: Collection[str] = (), quiet: float = 0.0
) -> SyncResult:
    """Read people's edits, then write the pages of memories that changed.

    With edits within the last `quiet` seconds, everything is left for the next run. Raises OSError
    if the directory cannot be used, and Busy if another process has locked it.
    """
    async with locked(here):
        return await sync_locked(
            here, by_person=by_person, quiet=quiet, write=writing_in_background
        )


async def sync_locked(
    here: NotebookContext,
    *,
    accepted: Collection[str] = (),
    by_person: Collection[str] = (),
    quiet: float = 0.0,
    write: Write = writing,
) -> SyncResult:
    """Synchronize within `locked`; the files of `accepted` pages are read as they are.

    By default, a person waits for it.
    """
    result = await read_edits(here, accepted=accepted, by_person=by_person, quiet=quiet)
    if result.unfinished:
        return result
    result.ignored = dict(here.tree.skipped)
    while await follow(here.db, write):
        pass
    await write_pages(here, result, write)
    if current := {*result.read, *result.written, *result.removed}:
        async with writing(here.db):
            await pages.publish(here.db, len(current), now=here.now())
    if here.history is not None and (result.edits or result.written or result.removed):
        await _commit(here.history)
    return result


async def _commit(history: GitHistory) -> None:
    """Commit the pages; the changes of a failed commit are in the next commit."""
    try:
        await asyncio.to_thread(history.commit)
    except GitError as error:
        logger.warning("The notebook was not committed: %s", error)


@asynccontextmanager
async def locked(here: NotebookContext) -> AsyncIterator[None]:
    """Hold the lock of the notebook."""
    lock = here.tree.locked()
    await asyncio.to_thread(lock.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(lock.__exit__, None, None, None)


PAGES_AT_ONCE: Final = 100
_TAGS: Final = {
    "services": "service",
    "projects": "project",
    "contacts": "contact",
    "infrastructure": "infrastructure",
    "decisions": "decision",
}


async def write_pages(here: NotebookContext, result: SyncResult, write: Write) -> None:
    """Write the pending pages from the current memories, and the index after the last of them."""
    after, more = "", True
    while more:
        found = await pages.pending(here.db, after=after, limit=PAGES_AT_ONCE)
        index = found.pop(INDEX, StoredPage(path=INDEX))
        more = len(found) >= PAGES_AT_ONCE
        after = list(found)[-1] if found else after
        some = [page for path, page in found.items() if path not in result.for_review]
        is_next = not more and INDEX not in result.for_review
        if some or (is_next and await index_is_due(here, index)):
            await _write_some(here, some, result, index if is_next else None, write)


async def _write_some(
    here: NotebookContext,
    some: Sequence[StoredPage],
    result: SyncResult,
    index: StoredPage | None,
    write: Write,
) -> None:
    """Write some pages; the same transaction marks the index as pending."""
    done = await _write_files(here, some, result) if some else []
    gone = [page.path for page, text in done if text is None]
    async with write(here.db):
        await pages.save(here.db, [page for page, _ in done if page.text])
        await pages.forget(here.db, gone)
        planned = await plan_index(here, index) if index is not None else None
        found = [text for _, text in done if text is not None]
        if planned is not None:
            gone.append(INDEX)  # unless it has notes
            found += planned.notes
        await texts.replace_texts(here.db, found, gone)
        if done and index is None:
            await pages.mark_pending(here.db, [INDEX])
    await asyncio.to_thread(here.tree.unrecorded.end)
    if planned is not None:
        await write_index(here, planned, result)


async def _write_files(
    here: NotebookContext, some: Sequence[StoredPage], result: SyncResult
) -> list[tuple[StoredPage, NotebookText | None]]:
    """Write files, except for those with an edit that was not read yet."""
    rows = await pages.memories_on(here.db, [page.path for page in some])
    done = await asyncio.to_thread(_write_rendered, here, _rendered(some, rows), result)
    return [each for each in done if each is not None]


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A stored page with its new content; `page` is None if it would be empty."""

    stored: StoredPage
    page: NotebookPage | None
    text: str = ""
    digest: str = ""


def _rendered(
    some: Sequence[StoredPage], rows: Mapping[str, Sequence[Memory]]
) -> Iterator[_Rendered]:
    for page in some:
        merged = _merged(page, rows[page.path])
        if merged is None:
            yield _Rendered(page, None)
            continue
        text = markdown.render(merged)
        digest = digest_of(text.encode("utf-8", "surrogatepass"))
        yield _Rendered(page, merged, text, digest)


def _write_rendered(
    here: NotebookContext, rendered: Iterable[_Rendered], result: SyncResult
) -> list[tuple[StoredPage, NotebookText | None] | None]:
    """Write files; until they are recorded, a list on disk names them."""
    new = list(rendered)
    changed = {each.stored.path: each.digest for each in new if each.digest != each.stored.digest}
    if changed:
        here.tree.unrecorded.begin(changed)
    return [_write(here, each, result) for each in new]


def _write(
    here: NotebookContext, new: _Rendered, result: SyncResult
) -> tuple[StoredPage, NotebookText | None] | None:
    """Write one file, and return its stored state and its searchable text.

    None if it contains an edit that was not read yet.
    """
    now, page = here.now(), new.stored
    if new.page is None:
        if not here.tree.remove(page.path, page.digest):
            return None
        if page.digest:
            result.removed.append(page.path)
        return page.replaced("", "", now=now), None
    page_text = _text_of(page.path, new.page, now)
    if new.digest == page.digest:
        return replace(page, text=new.text, pending=False), page_text
    if not here.tree.write(page.path, new.text, page.digest):
        return None
    result.written.append(page.path)
    return page.replaced(new.text, new.digest, now=now), page_text


def _merged(page: StoredPage, rows: Sequence[Memory]) -> NotebookPage | None:
    """Return a page with the current memories; None if it would be empty."""
    found = markdown.parse(page.text) if page.text else _new_page(rows)
    merged = merge(found, [line_of(each) for each in rows])
    empty = not rows and (not page.text or _is_empty(page.path, merged))
    return None if empty or not markdown.render(merged) else merged


def _text_of(path: str, page: NotebookPage, now: datetime) -> NotebookText:
    """Return the searchable text of a page."""
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
    """Whether a page contains only the front matter and the heading of a new page."""
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


ONE_REPORT: Final = timedelta(minutes=1)
"""Both processes of a home synchronize the notebook: the second one repeats no report."""

ONE_REMINDER: Final = timedelta(days=1)
"""A restarted process repeats no report of the same unreadable files within a day."""

UNREAD: Final = "Notebook: {} Correct or rename the file, so that its edits are read."
UNWRITABLE: Final = "The notebook cannot be written: {}. Memories are stored as before."
WRITABLE: Final = "The notebook can be written again."


async def keep_in_step(here: NotebookContext, *, quiet: float = 0.0) -> bool:
    """Read edits and write pages; return whether that succeeded. Raises nothing."""
    try:
        await sync(here, quiet=quiet)
    except OSError as error:
        await _report(here, error.strerror or str(error))
        return False
    except (Error, LamplighterError, TimeoutError) as error:
        logger.warning("The notebook cannot be updated now: %s", error)
        return False
    await _report(here, "")
    await _report_unread(here)
    return True


async def _report(here: NotebookContext, problem: str) -> None:
    """Record an event when writes to the disk start to fail, and when they succeed again."""
    if problem == here.tree.problem:
        return
    here.tree.problem = problem
    level = Level.WARNING if problem else Level.INFO
    text = UNWRITABLE.format(problem) if problem else WRITABLE
    logger.log(logging.WARNING if problem else logging.INFO, "%s", text)
    await _record(here, level, text, ONE_REPORT)


async def _report_unread(here: NotebookContext) -> None:
    """Record an event when files of pages cannot be read: their edits are ignored."""
    found, reported = here.tree.skipped, here.tree.reported
    here.tree.reported = dict(found)
    new = [f"{name} is not read: {why}." for name, why in found.items() if name not in reported]
    if new:
        others = len(new) - 1
        more = f" ({others:,} more {'file' if others == 1 else 'files'})" if others else ""
        text = here.redact(UNREAD.format(f"{escape_terminal(new[0])}{more}"))
        logger.warning("%s", text)
        await _record(here, Level.WARNING, text, ONE_REMINDER)


async def _record(here: NotebookContext, level: Level, text: str, once: timedelta) -> None:
    """Record an event, unless the same one was recorded this shortly before."""
    now = here.now()
    try:
        async with writing(here.db):
            if not await events.recorded_after(here.db, text, None, now - once):
                await events.insert(here.db, level, text, source=SOURCE, now=now)
    except (Error, TimeoutError) as error:
        logger.warning("An event cannot be recorded now: %s", error)
