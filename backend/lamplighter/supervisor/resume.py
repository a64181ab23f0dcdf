"""Whether a session goes on after its engine or its supervisor died, and how."""

import asyncio
import logging
import time
from dataclasses import replace
from typing import Final

from lamplighter.domain.session import Session
from lamplighter.engines import CHECKPOINT, CHECKPOINT_LOCK, Engine, Task, Trait
from lamplighter.repository import sessions
from lamplighter.supervisor.files import Heard
from lamplighter.supervisor.patience import patiently
from lamplighter.supervisor.watch import Watch
from lamplighter.supervisor.workshop import Workshop
from lamplighter.usecases import resume

logger = logging.getLogger(__name__)

ENDING_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.05


async def can(shop: Workshop, engine: Engine | None, session: Session, heard: Heard) -> bool:
    """Whether a session whose engine is gone can go on: it left a checkpoint and no result.

    One that was asked to stop does not, nor one that did so too often.
    """
    return (
        engine is not None
        and Trait.RESUMES in engine.traits
        and heard.finished is None
        and session.running
        and session.stop_requested_at is None
        and session.resumed < resume.MOST
        and shop.files.holds(session, CHECKPOINT)
        and await _let_go(shop, session)
    )


async def _let_go(shop: Workshop, session: Session) -> bool:
    """Whether no process has the session any more; one that is ending may need a moment."""
    deadline = time.monotonic() + ENDING_SECONDS
    while not shop.files.free(session, CHECKPOINT_LOCK):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(PAUSE_SECONDS)
    return True


async def again(
    shop: Workshop, engine: Engine, task: Task, watch: Watch, exit_code: int
) -> Task | None:
    """Return the task to go on with after the engine ended; None when the session is over."""
    if watch.status is not None or watch.disk_full or watch.draining.is_set():
        return None
    if await shop.brake.pulled(shop.db):
        return None
    held = await patiently(lambda: sessions.get(shop.db, task.session.id), watch.draining)
    heard = await asyncio.to_thread(shop.files.heard, task.session)
    if held is None or not await can(shop, engine, held, heard):
        return None
    if await patiently(lambda: shop.brake.pulled(shop.db), watch.draining):
        return None
    why = f"its engine ended without a result (exit {exit_code})."
    logger.warning("Session %s goes on: %s", held.id, why)
    session = await patiently(
        lambda: resume.go_on(shop.db, held, why, epoch=shop.epoch, now=shop.now()),
        watch.draining,
    )
    watch.heard = time.monotonic()
    return await resumed(shop, replace(task, session=session))


async def resumed(shop: Workshop, task: Task) -> Task:
    """Say in a task how often its session went on, and how much it had printed."""
    said = await asyncio.to_thread(shop.files.mend, task.session)
    return replace(task, resumed=task.session.resumed, said=said)
