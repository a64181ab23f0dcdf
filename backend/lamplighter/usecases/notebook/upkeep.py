"""Upkeep: the notebook is synchronized; disk errors are reported once, and nothing stops."""

import logging
from datetime import timedelta
from typing import Final

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services.event import Level
from lamplighter.repository import writing
from lamplighter.repository.services import events
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.edits import SOURCE
from lamplighter.usecases.notebook.sync import sync

logger = logging.getLogger(__name__)

ONE_REPORT: Final = timedelta(minutes=1)
"""Both processes of a home synchronize the notebook: the second one repeats no report."""

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
    return True


async def _report(here: NotebookContext, problem: str) -> None:
    """Record an event when writes to the disk start to fail, and when they succeed again."""
    if problem == here.tree.problem:
        return
    here.tree.problem = problem
    level = Level.WARNING if problem else Level.INFO
    text = UNWRITABLE.format(problem) if problem else WRITABLE
    logger.log(logging.WARNING if problem else logging.INFO, "%s", text)
    now = here.now()
    try:
        async with writing(here.db):
            if not await events.recorded_after(here.db, text, None, now - ONE_REPORT):
                await events.insert(here.db, level, text, source=SOURCE, now=now)
    except (Error, TimeoutError) as error:
        logger.warning("An event cannot be recorded now: %s", error)
