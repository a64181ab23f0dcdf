"""The active configuration of a running web process, for the settings page."""

import asyncio
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lamplighter import __version__
from lamplighter.config import active
from lamplighter.config.settings import FILE, Settings
from lamplighter.domain.relate import Lexicon, builtin_lexicon
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.formats import serialize
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import display_address, is_postgres
from lamplighter.repository.upkeep import leases, vitals
from lamplighter.serve.editing.live import LiveSettings
from lamplighter.serve.home import SESSIONS
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.configuration.context import ConfigurationContext

LICENSE = "Apache-2.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSettings:
    """The settings of this process, the files it reads, and its identity."""

    live: LiveSettings
    services: ServicesFile
    lexicon: Lexicon
    db: Database
    redact: Redactor
    files: ConfigurationContext
    started_at: datetime

    async def as_json(self) -> Mapping[str, Any]:
        """Return all of it as JSON, without its secrets."""
        self.live.refresh()
        report = await asyncio.to_thread(active.describe_active, self.settings)
        for each in report["settings"]:
            for name in ("value", "next"):
                each[name] = each[name] and self.redact(each[name])
        report["warnings"] += await self._differs()
        file = await asyncio.to_thread(self.files.settings.read)
        edit = {"policy": self.files.policy, "etag": file.etag, "obstacle": file.obstacle}
        return {
            **report,
            "edit": edit,
            "files": await asyncio.to_thread(self._files),
            "about": await self._about(),
        }

    @property
    def settings(self) -> Settings:
        """The settings that are active now."""
        return self.live.current

    def line_of(self, name: str, text: str) -> str:
        """Return the line of `lamplighter.toml` that sets a setting; raises Invalid."""
        return active.toml_line(name, text)

    async def _differs(self) -> list[str]:
        """Describe the settings in which the supervisor differs from this process."""
        leader, settings = await leases.get(self.db), self.settings
        if leader is None or not leader.pid:
            return []
        theirs = {
            "engine": (leader.engine, settings.engine),
            "interval": (f"{leader.interval_seconds:g} s", f"{settings.interval:g} s"),
            "dry_run": (_flag(leader.dry_run), _flag(settings.dry_run)),
        }
        return [
            f"The supervisor runs with {name} {there}, this web process with {here}."
            for name, (there, here) in theirs.items()
            if there != here
        ]

    def _files(self) -> list[dict[str, Any]]:
        settings = self.settings
        own, words = self.services.problems(), self.lexicon
        count = len(self.services.last_good())
        added = len(words.heads) - len(builtin_lexicon().heads)
        says = (
            "built-in lexicon only" if words.version == builtin_lexicon().version else _added(added)
        )
        places: tuple[tuple[str, Path, str, list[dict[str, object]]], ...] = (
            ("home", settings.home, "", []),
            ("settings", settings.home / FILE, "", []),
            ("services", settings.services, f"{count} declared", own),
            ("lexicon", settings.lexicon, says, []),
            ("sessions", settings.home / SESSIONS, "", []),
        )
        return [_file(name, path, says, problems) for name, path, says, problems in places]

    async def _about(self) -> dict[str, Any]:
        sqlite = ".".join(map(str, driver.version()))
        postgres = is_postgres(self.settings.database_url)
        engine = f"PostgreSQL {await vitals.server_version(self.db)}" if postgres else sqlite
        return {
            "version": __version__,
            "license": LICENSE,
            "python": platform.python_version(),
            "database": engine if postgres else f"SQLite {sqlite}",
            "database_at": display_address(self.settings.database_url),
            "started_at": serialize.format_moment(self.started_at),
        }


def _file(name: str, path: Path, says: str, problems: list[dict[str, object]]) -> dict[str, Any]:
    there = path.exists()
    return {
        "name": name,
        "path": str(path),
        "exists": there,
        "says": says if there else "",
        "problems": problems,
    }


def _added(count: int) -> str:
    return (
        f"adds {count:,} word{'' if count == 1 else 's'}" if count > 0 else "changes built-in words"
    )


def _flag(value: bool) -> str:
    return "yes" if value else "no"
