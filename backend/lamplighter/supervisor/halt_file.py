"""The file HALT: that it came or went is recorded, so that everyone hears of it."""

import asyncio
import logging
from typing import Final

from lamplighter.repository.driver import OperationalError, severity
from lamplighter.supervisor.workshop import Workshop
from lamplighter.usecases import halt

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.5


async def record(shop: Workshop) -> None:
    """Record each time that the file comes or goes, until cancelled."""
    while True:
        try:
            await halt.note_file(shop.db, shop.brake, now=shop.now())
        except OperationalError as error:
            logger.log(severity(error), "That the file was seen could not be written: %s", error)
        await asyncio.sleep(POLL_SECONDS)
