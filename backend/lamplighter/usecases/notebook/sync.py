"""Sync: edits are read first, then pages are written; never the other way round."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from lamplighter.notebook.git import GitError, GitHistory
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.edits import read_edits
from lamplighter.usecases.notebook.following import follow
from lamplighter.usecases.notebook.pages import write_pages

logger = logging.getLogger(__name__)


async def sync(
    here: NotebookContext, *, by_person: Collection[str] = (), quiet: float = 0.0
) -> SyncResult:
    """Read edits of people, then write the pages of memories that changed.

    Edits within the last `quiet` seconds are left for later, and all pages with them.
    Raises OSError where the directory cannot be used, and Busy where another process holds it.
    """
    async with locked(here):
        return await sync_locked(here, by_person=by_person, quiet=quiet)


async def sync_locked(
    here: NotebookContext,
    *,
    accepted: Collection[str] = (),
    by_person: Collection[str] = (),
    quiet: float = 0.0,
) -> SyncResult:
    """Do the same within `locked`; `accepted` pages are read as their files are."""
    result = await read_edits(here, accepted=accepted, by_person=by_person, quiet=quiet)
    if result.unfinished:
        return result
    result.ignored = dict(here.tree.skipped)
    while await follow(here.db):
        pass
    await write_pages(here, result)
    if here.history is not None and (result.edits or result.written or result.removed):
        await _commit(here.history)
    return result


async def _commit(history: GitHistory) -> None:
    """Commit the pages; a commit that fails is made with the next change."""
    try:
        await asyncio.to_thread(history.commit)
    except GitError as error:
        logger.warning("The notebook was not committed: %s", error)


@asynccontextmanager
async def locked(here: NotebookContext) -> AsyncIterator[None]:
    """Work on the notebook alone."""
    lock = here.tree.locked()
    await asyncio.to_thread(lock.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(lock.__exit__, None, None, None)
