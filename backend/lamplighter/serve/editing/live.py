"""Settings that apply without a restart: where notifications go, and which are sent."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from lamplighter.config.settings import FILE, Settings, read_settings
from lamplighter.domain.errors import Invalid
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.outbox import AppriseTransport

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0


class LiveNotifications:
    """Follows the settings file, and applies its settings of notifications."""

    def __init__(
        self, settings: Settings, db: Database, transport: AppriseTransport | None = None
    ) -> None:
        self._settings, self._db, self._transport = settings, db, transport
        self._stamp = self._read_stamp()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if (stamp := self._read_stamp()) != self._stamp:
                self._stamp = stamp
                self._apply()

    def _apply(self) -> None:
        try:
            found = read_settings()
        except Invalid as error:
            logger.warning("%s has mistakes, notifications stay as they are: %s", FILE, error)
            return
        if found.home != self._settings.home:
            return
        home.secrets(found)  # its addresses are masked from now on
        self._db.telling = home.notification_rules(found)
        if self._transport is not None:
            self._transport.urls = found.notify

    def _read_stamp(self) -> tuple[int, int]:
        with suppress(OSError):
            stat = (self._settings.home / FILE).stat()
            return stat.st_mtime_ns, stat.st_size
        return 0, 0


@asynccontextmanager
async def following_settings(settings: Settings, db: Database) -> AsyncIterator[None]:
    """Apply such settings to the database of a web process, which decides what is sent."""
    task = asyncio.create_task(LiveNotifications(settings, db).run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
