"""Health: whether Lamplighter itself is well, as a running web process can tell."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from lamplighter.api.hub import Hub
from lamplighter.config.settings import Settings
from lamplighter.domain.services import vitals as rules
from lamplighter.domain.services.vitals import Condition, Sign, judged
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.store.file_watch import REPAIR
from lamplighter.repository.store.unreadable import passed_over, unreadable
from lamplighter.repository.upkeep.database_state import condition
from lamplighter.serve import home
from lamplighter.serve.checkup import checks
from lamplighter.serve.semantic import Meaning
from lamplighter.usecases.system import vitals as gathered

SETUP_SECONDS: Final = 15.0
COUNTED_SECONDS: Final = 600.0
PATIENCE_SECONDS: Final = 30.0
UNREADABLE_MOST: Final = 1_000
NOT_CHECKED: Final = "Not checked since this web process started"
LOOK: Final = "Look closer to check it now; `lamplighter doctor` does it too."

Dated = tuple[datetime, Sign]


@dataclass(slots=True)
class Health:
    """What is looked at each time, what is kept for a while, and what only a person asks for."""

    settings: Settings
    db: Database
    hub: Hub
    now: Callable[[], datetime]
    meaning: Meaning
    _setup: list[Dated] = field(default_factory=list)
    _counted: list[Dated] = field(default_factory=list)
    _sound: list[Dated] = field(default_factory=list)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def signs(self) -> list[Dated]:
        """Return every sign with the moment it was looked at; what is dear is kept a while."""
        async with self._one:
            await self._refresh()
        now = self.now()
        return [
            *((now, sign) for sign in await self._at_once(now)),
            *(self._sound or self._unsound()),
            *self._setup,
            *self._counted,
        ]

    async def look_closer(self) -> list[Dated]:
        """Check every page of the database and every memory, and count anew; takes its time."""
        async with self._one:
            self._setup, self._counted = [], []
            self._sound = [(self.now(), sign) for sign in await self._integrity()]
        return await self.signs()

    async def _refresh(self) -> None:
        now = self.now()
        if _older(self._setup, SETUP_SECONDS, now):
            found = await asyncio.to_thread(_setup, self.settings)
            self._setup = [(now, sign) for sign in found]
        if _older(self._counted, COUNTED_SECONDS, now):
            with suppress(driver.Error, TimeoutError):  # of that the other signs tell
                async with asyncio.timeout(PATIENCE_SECONDS):
                    found = await gathered.counted(self.db, now=now)
                self._counted = [(now, sign) for sign in found]

    async def _at_once(self, now: datetime) -> list[Sign]:
        feed = rules.feed(len(self.hub.followers), self.hub.behind)
        lost = rules.database_file(self.db.problem)
        try:
            found = await gathered.at_once(self.db, home.brake(self.settings), now=now)
            others = [*self._log(), await self.meaning.sign(), feed]
            if not lost:
                return [*found, *others]
            return [*lost, *(each for each in found if each.name != "database"), *others]
        except (driver.Error, TimeoutError) as error:
            advice = "It goes on by itself when its database does; the log says what is wrong."
            words = f"The database cannot be read now: {error}"
            return [*(lost or [Sign("database", Condition.FAILING, words, advice)]), feed]

    def _log(self) -> list[Sign]:
        if is_postgres(self.settings.database_url):
            return []
        path = file_of(self.settings.database_url)
        log = Path(f"{path}-wal")
        return [rules.log_size(log.stat().st_size if log.exists() else 0)]

    def _unsound(self) -> list[Dated]:
        rows = rules.unreadable(passed_over())
        integrity = Sign("integrity", Condition.UNKNOWN, NOT_CHECKED, LOOK)
        return [(self.now(), sign) for sign in (integrity, rows)]

    async def _integrity(self) -> list[Sign]:
        url = self.settings.database_url
        rows = rules.unreadable(0)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found = await _checked(url)
                rows = rules.unreadable(len(await unreadable(url, UNREADABLE_MOST)))
        except TimeoutError:
            words = f"The check was given up after {PATIENCE_SECONDS:.0f} s"
            return [Sign("integrity", Condition.UNKNOWN, words, "Run `lamplighter doctor`."), rows]
        except (driver.Error, OSError) as error:
            return [judged("integrity", False, str(error), REPAIR), rows]
        words = "Every page of the database is sound" if found == "ok" else found
        return [judged("integrity", found == "ok", words, REPAIR), rows]


async def _checked(url: str) -> str:
    """Return "ok" or the first damage. PostgreSQL checks its pages itself: there we only look."""
    if is_postgres(url):
        from lamplighter.repository.upkeep.postgres_state import looked_at

        return (await looked_at(url)).check
    return (await asyncio.to_thread(condition, file_of(url))).check


def _setup(settings: Settings) -> list[Sign]:
    return [sign for look in checks.ALL for sign in checks.seen(look, settings)]


def _older(kept: list[Dated], seconds: float, now: datetime) -> bool:
    return not kept or abs((now - kept[0][0]).total_seconds()) > seconds
