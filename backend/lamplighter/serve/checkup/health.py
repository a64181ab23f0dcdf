"""Health of Lamplighter itself, as seen by the running web process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from lamplighter.api.hub import Hub
from lamplighter.config.settings import Settings
from lamplighter.domain.services import vitals as rules
from lamplighter.domain.services.vitals import VitalSign, VitalStatus, build_sign
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.store.file_watch import REPAIR
from lamplighter.repository.store.unreadable import count_unreadable, list_unreadable
from lamplighter.repository.upkeep.database_state import inspect_file
from lamplighter.serve import home
from lamplighter.serve.checkup import checks
from lamplighter.serve.semantic.service import SemanticService
from lamplighter.usecases.system import vitals as gathered

SETUP_SECONDS: Final = 15.0
TIMEOUT_SECONDS: Final = 30.0
MAX_UNREADABLE: Final = 1_000
NOT_CHECKED: Final = "Not checked yet since this web process started"
FULL_CHECK_HINT: Final = "Run a full check, or `lamplighter doctor`."

DatedSign = tuple[datetime, VitalSign]


@dataclass(slots=True)
class HealthMonitor:
    """Checks made each time, cached checks, and the full check that a person requests."""

    settings: Settings
    db: Database
    hub: Hub
    now: Callable[[], datetime]
    meaning: SemanticService
    _setup: list[DatedSign] = field(default_factory=list)
    _sound: list[DatedSign] = field(default_factory=list)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def use(self, settings: Settings) -> None:
        """Check by these settings from now on."""
        self.settings, self._setup = settings, []

    async def signs(self) -> list[DatedSign]:
        """Return every check result with its time; expensive results are cached."""
        async with self._one:
            await self._refresh()
        now = self.now()
        return [
            *((now, sign) for sign in await self._at_once(now)),
            *(self._sound or self._unsound()),
            *self._setup,
        ]

    async def look_closer(self) -> list[DatedSign]:
        """Check every page of the database and every memory. Slow."""
        async with self._one:
            self._setup = []
            self._sound = [(self.now(), sign) for sign in await self._integrity()]
        return await self.signs()

    async def _refresh(self) -> None:
        now = self.now()
        if _is_outdated(self._setup, SETUP_SECONDS, now):
            found = await asyncio.to_thread(_setup, self.settings)
            self._setup = [(now, sign) for sign in found]

    async def _at_once(self, now: datetime) -> list[VitalSign]:
        feed = rules.judge_feed(len(self.hub.followers), self.hub.behind)
        lost = rules.judge_database_file(self.db.problem)
        try:
            found = await gathered.quick_signs(self.db, home.halt_control(self.settings), now=now)
            others = [*self._log(), await self.meaning.sign(), feed]
            if not lost:
                return [*found, *others]
            return [*lost, *(each for each in found if each.name != "database"), *others]
        except (driver.Error, TimeoutError) as error:
            advice = "See the log. The web process recovers by itself when the database does."
            words = f"The database is not available: {error}"
            return [*(lost or [VitalSign("database", VitalStatus.FAILING, words, advice)]), feed]

    def _log(self) -> list[VitalSign]:
        if is_postgres(self.settings.database_url):
            return []
        path = file_of(self.settings.database_url)
        log = Path(f"{path}-wal")
        return [rules.judge_log_size(log.stat().st_size if log.exists() else 0)]

    def _unsound(self) -> list[DatedSign]:
        rows = rules.judge_unreadable(count_unreadable())
        integrity = VitalSign("integrity", VitalStatus.UNKNOWN, NOT_CHECKED, FULL_CHECK_HINT)
        return [(self.now(), sign) for sign in (integrity, rows)]

    async def _integrity(self) -> list[VitalSign]:
        url = self.settings.database_url
        rows = rules.judge_unreadable(0)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                result = await _check_integrity(url)
                rows = rules.judge_unreadable(len(await list_unreadable(url, MAX_UNREADABLE)))
        except TimeoutError:
            text = f"The check timed out after {TIMEOUT_SECONDS:.0f} s"
            return [
                VitalSign("integrity", VitalStatus.UNKNOWN, text, "Run `lamplighter doctor`."),
                rows,
            ]
        except (driver.Error, OSError) as error:
            return [build_sign("integrity", False, str(error), REPAIR), rows]
        text = "All pages of the database are intact" if result == "ok" else result
        return [build_sign("integrity", result == "ok", text, REPAIR), rows]


async def _check_integrity(url: str) -> str:
    """Return "ok" or the first damage. PostgreSQL checks its pages itself."""
    if is_postgres(url):
        from lamplighter.repository.upkeep.postgres_state import inspect_connection

        return (await inspect_connection(url)).check
    return (await asyncio.to_thread(inspect_file, file_of(url))).check


def _setup(settings: Settings) -> list[VitalSign]:
    return [sign for check in checks.ALL for sign in checks.run_check(check, settings)]


def _is_outdated(signs: list[DatedSign], seconds: float, now: datetime) -> bool:
    return not signs or abs((now - signs[0][0]).total_seconds()) > seconds
