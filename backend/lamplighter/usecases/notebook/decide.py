"""Decisions on the pages of a review, and the pages as people read them."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict, NotFound, Stale
from lamplighter.domain.text import shorten
from lamplighter.notebook.tree import is_page_path
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.notebook import pages, reviews
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.repository.notebook.reviews import NotebookReview
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.read import read_page
from lamplighter.usecases.notebook.sync import locked, sync_locked

logger = logging.getLogger(__name__)

UNREADABLE: Final = "{}.md is not read: {}. Correct or rename the file, then save the page again."
MAX_SHOWN: Final = 80
EXCERPT_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PageListing:
    """A page in a list; `reasons` say why a person must decide on it.

    `excerpt` is the first line that matches a search, empty without a search.
    """

    path: str
    memories: int
    written_at: datetime | None
    reasons: Sequence[str] = ()
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class StalePage:
    """A page that was changed after its editor read it: its text, and the hash of its file."""

    text: str
    digest: str


async def list_pages(db: Database, project: str | None = None) -> list[PageListing]:
    """Return the pages by path, including those that only a review names.

    With a `project` these are the pages with memories that it reads.
    """
    async with reading(db):
        counts = {each.path: each.count for each in await pages.counts(db, project)}
        states = counts if project is not None else await pages.states(db)
        stored = await pages.stored(db, list(states))
        review = await reviews.open_review(db) if project is None else None
    reasons = dict(review.pages) if review else {}
    return [
        PageListing(
            path=path,
            memories=counts.get(path, 0),
            written_at=stored[path].written_at if path in stored else None,
            reasons=reasons.get(path, ()),
        )
        for path in sorted({*states, *reasons})
    ]


async def find_pages(db: Database, query: str, project: str | None = None) -> list[PageListing]:
    """Return the pages whose own text and memories contain every word of a query.

    With a `project` only the part of a page that it may read is searched.
    """
    terms = query.casefold().split()
    matches = []
    for each in await list_pages(db, project):
        with suppress(NotFound):  # removed meanwhile, or named only by a review
            text = (await read_page(db, each.path, project)).text
            if all(word in text.casefold() for word in terms):
                matches.append(replace(each, excerpt=_excerpt(text, terms)))
    return matches


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return the line that contains the most of some words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    best = max(lines, key=lambda line: sum(word in line.casefold() for word in words), default="")
    return shorten(best, EXCERPT_CHARS)


async def stored_texts(db: Database, path: str) -> StoredPage:
    """Return a page as last written or read, an empty one if it does not exist."""
    async with reading(db):
        return (await pages.stored(db, [path])).get(path, StoredPage(path=path))


async def accept(here: NotebookContext, paths: Collection[str]) -> SyncResult:
    """Accept the files of pages in the review as they are; raises NotFound."""
    async with locked(here):
        review = await _open_review(here.db, paths)
        return await sync_locked(here, accepted=paths or list(review.pages))


async def discard(here: NotebookContext, paths: Collection[str]) -> SyncResult:
    """Write pages of the review from the memories; the previous files stay in the review."""
    async with locked(here):
        review = await _open_review(here.db, paths)
        files = await asyncio.to_thread(here.tree.scan)
        chosen = sorted(paths or review.pages)
        texts = {path: files[path].text for path in chosen if path in files}
        async with writing(here.db):
            stored = await pages.stored(here.db, chosen)
            await reviews.discard(here.db, review.id, texts)
            await pages.save(
                here.db,
                (
                    replace(
                        stored.get(path, StoredPage(path=path)),
                        digest=files[path].digest if path in files else "",
                        pending=True,
                        text=_written(stored.get(path)),
                    )
                    for path in chosen
                ),
            )
        return await sync_locked(here)


async def write_page(
    here: NotebookContext, path: str, text: str, *, expected: str | None
) -> SyncResult:
    """Write a page that a person edited, and read its edits.

    If the database fails once the file is written, the next run reads its edits. Raises NotFound
    if the path is not a page, Conflict if its file cannot be read, and Stale if the file is no
    longer `expected`.
    """
    if not is_page_path(path):
        raise NotFound(f"{path[:MAX_SHOWN]!r} is not the path of a page.")
    async with locked(here):
        await sync_locked(here)
        file = await asyncio.to_thread(here.tree.read, path)
        if reason := here.tree.skipped.get(f"{path}.md"):
            raise Conflict(UNREADABLE.format(path, reason))
        now = file.digest if file else ""
        written = expected in (None, now) and await asyncio.to_thread(
            here.tree.write, path, text, now
        )
        if not written:
            raise Stale(StalePage(file.text if file else "", now))
        try:
            return await sync_locked(here, by_person=[path])
        except (Error, OSError, TimeoutError) as error:
            logger.warning("%s.md was saved; its edits are read later: %s", path, error)
            return SyncResult()


def _written(page: StoredPage | None) -> str:
    """Return the stored text of a page; a line by a person that was never read is in its file."""
    return page.text if page else ""


async def _open_review(db: Database, paths: Collection[str]) -> NotebookReview:
    async with reading(db):
        review = await reviews.open_review(db)
    if review is None:
        raise NotFound("No page of the notebook needs a review.")
    unknown = sorted(set(paths) - review.pages.keys())
    if unknown:
        raise NotFound(f"{unknown[0]}.md needs no review.")
    return review
