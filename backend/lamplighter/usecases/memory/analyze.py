"""Analysis in advance of texts written outside of the app, or analyzed by another lexicon."""

import asyncio
import logging
import time
from typing import Final

from lamplighter.domain.relate import Lexicon, analyze
from lamplighter.repository import Database, writing
from lamplighter.repository.search import analyses
from lamplighter.repository.store.unreadable import readable

logger = logging.getLogger(__name__)

BATCH_SIZE: Final = 100
WITHIN_SECONDS: Final = 2.0


async def catch_up(db: Database, lexicon: Lexicon, *, within: float = WITHIN_SECONDS) -> int:
    """Analyze the active memories that this lexicon has not analyzed yet; return how many.

    Runs for at most `within` seconds, in short writes; the rest is left for the next run.
    """
    began, newest, done = time.monotonic(), 0, 0
    while rows := await analyses.list_unanalyzed(db, lexicon, newest=newest, limit=BATCH_SIZE):
        newest = rows[-1]["id"]
        rows = readable(rows)
        found = {
            row["id"]: analyze(row["observation"], lexicon, service=row["service"]) for row in rows
        }
        async with writing(db):
            await analyses.store(db, rows, found)
        done += len(rows)
        if time.monotonic() - began > within:
            logger.info("Analyzed %s memories; the rest follows with the next session.", done)
            break
        await asyncio.sleep(0)
    return done
