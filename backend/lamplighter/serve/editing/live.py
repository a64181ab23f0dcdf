"""The settings of a running process: live settings follow the settings file."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from lamplighter.config.active import take_over
from lamplighter.config.settings import FILE, Settings, read_settings
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Invalid
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.configuration import build_configuration

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0


class LiveSettings:
    """The settings that are active now; each of `appliers` gets them when they change."""

    def __init__(self, settings: Settings, *appliers: Callable[[Settings], None]) -> None:
        self.current = settings
        self.appliers = list(appliers)
        self._stamp = self._read_stamp()

    def refresh(self) -> None:
        """Apply the file, if it has changed since."""
        if (stamp := self._read_stamp()) == self._stamp:
            return
        self._stamp = stamp
        try:
            settings = read_settings()
        except Invalid as error:
            logger.warning("%s has mistakes, the settings stay as they are: %s", FILE, error)
            return
        if settings.home != self.current.home:
            return
        before, self.current = self.current, take_over(self.current, settings)
        for apply in self.appliers if self.current != before else ():
            apply(self.current)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the file as long as this lasts."""

        async def step() -> float:
            self.refresh()
            return POLL_SECONDS

        async with home.repeating(step, start=POLL_SECONDS):
            yield

    def _read_stamp(self) -> tuple[int, int]:
        with suppress(OSError):
            stat = (self.current.home / FILE).stat()
            return stat.st_mtime_ns, stat.st_size
        return 0, 0


def follow_settings(settings: Settings, db: Database, active: Configuration) -> LiveSettings:
    """Return the settings of a process, which its database and configuration follow."""

    def apply(found: Settings) -> None:
        home.secrets(found)  # masks its addresses from now on
        db.telling = home.notification_rules(found)
        logging.getLogger("lamplighter").setLevel(found.log_level.upper())
        active.adopt(build_configuration(found, active.lexicon))

    return LiveSettings(settings, apply)
