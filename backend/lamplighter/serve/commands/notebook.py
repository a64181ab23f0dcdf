"""The notebook for the command line: with or without a running server."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import NotFound, Unavailable
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.notebook.service import notebook_context
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.notebook import decide
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.sync import sync as read_and_write

T = TypeVar("T")


def list_pages(settings: Settings, query: str) -> list[decide.PageListing]:
    """Return all pages, or those with all words of a query."""
    if query.strip():
        return home.run(settings, lambda db: decide.find_pages(db, query))
    return home.run(settings, decide.list_pages)


def show(settings: Settings, path: str) -> str:
    """Return the text of a page as its file is; raises NotFound."""

    async def read(here: NotebookContext) -> str:
        try:
            page = here.tree.read(path)
        except (ValueError, OSError):
            page = None
        if page is None:
            raise NotFound(f"The notebook has no page {path}.")
        return page.text

    return _run(settings, read)


def sync(settings: Settings) -> SyncResult:
    """Read edits and write pages now; raises Unavailable if the directory cannot be used."""
    return _run(settings, read_and_write)


def accept(settings: Settings, paths: Sequence[str]) -> SyncResult:
    """Read pages of the review as their files are; raises NotFound."""
    return _run(settings, lambda here: decide.accept(here, paths))


def discard(settings: Settings, paths: Sequence[str]) -> SyncResult:
    """Write pages of the review as the memories are; raises NotFound."""
    return _run(settings, lambda here: decide.discard(here, paths))


def _run(settings: Settings, work: Callable[[NotebookContext], Awaitable[T]]) -> T:
    async def ask(db: Database) -> T:
        services = ServicesFile(settings.services)
        here = notebook_context(settings, home.context(settings, db), services)
        if here is None:
            raise Unavailable("The notebook is turned off. Set LAMPLIGHTER_NOTEBOOK=yes.")
        try:
            return await work(here)
        except OSError as error:
            raise Unavailable(f"{here.tree.root} cannot be used: {error.strerror}.") from error

    return home.run(settings, ask)
