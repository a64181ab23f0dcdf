"""The notebook of a process: kept in sync with the memories, and with the files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from lamplighter.config.settings import Settings
from lamplighter.notebook.git import GitHistory
from lamplighter.notebook.tree import NotebookTree
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.context import Context
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import keep_in_step

START_SECONDS: Final = 2.0
REST_SECONDS: Final = 2.0
QUIET_SECONDS: Final = 2.5
"""So long after the last save of an editor its edits are read: some save while a line is typed."""

RETRY_SECONDS: Final = 60.0


def notebook_context(
    settings: Settings, here: Context, services: ServicesFile
) -> NotebookContext | None:
    """Return the context of a home's notebook; None if the notebook is turned off."""
    if not settings.notebook:
        return None
    tree = NotebookTree(settings.home, home.identity(settings).id)
    return NotebookContext(
        db=here.db,
        now=here.now,
        redact=here.redact,
        tree=tree,
        index_bytes=settings.notebook_index,
        services=lambda: services.last_good().names,
        history=GitHistory(tree.root) if settings.notebook_git else None,
    )


@asynccontextmanager
async def notebook_upkeep(
    here: NotebookContext | None, *, start: float = START_SECONDS
) -> AsyncIterator[None]:
    """Keep the notebook in sync during this context."""
    if here is None:
        yield
        return

    async def step() -> float:
        working = await keep_in_step(here, quiet=QUIET_SECONDS)
        return REST_SECONDS if working else RETRY_SECONDS

    async with home.repeating(step, start=start):
        yield
