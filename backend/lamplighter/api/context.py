"""What every route needs: the database, the rules in force, and the feed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request

from lamplighter.api.hub import Hub
from lamplighter.api.row_counts import CountCache
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.relate import Lexicon, builtin_lexicon
from lamplighter.domain.search.search import SemanticIndex
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Services
from lamplighter.domain.services.vitals import VitalSign
from lamplighter.domain.sessions.cost import MAX_TURNS, SpendingCaps
from lamplighter.domain.sessions.session import DEFAULT_BUDGET, MAX_TIER
from lamplighter.engines import Engine
from lamplighter.repository import Database
from lamplighter.usecases.memory.journal import TRASH_RETENTION
from lamplighter.usecases.memory.knowledge import WINDOW
from lamplighter.usecases.sessions.halt import HaltControl


class HealthSource(Protocol):
    """What can tell whether this installation is well."""

    async def signs(self) -> Sequence[tuple[datetime, VitalSign]]:
        """Return every sign with the moment it was looked at."""

    async def look_closer(self) -> Sequence[tuple[datetime, VitalSign]]:
        """Look at what is dear too; takes its time."""


class ActiveSettingsSource(Protocol):
    """What can tell which settings are in force, and how one is written."""

    async def shown(self) -> Mapping[str, Any]:
        """Return the settings in force as JSON, without their secrets."""

    def line_of(self, name: str, text: str) -> str:
        """Return the line of `lamplighter.toml` that sets a setting; raises Invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContext:
    """One web process's view of the product; `services` raises when the file is broken."""

    db: Database
    hub: Hub
    now: Callable[[], datetime]
    services: Callable[[], Services]
    problems: Callable[[], list[dict[str, object]]]
    services_path: str
    redact: Redactor
    health: HealthSource
    settings: ActiveSettingsSource
    session_files: Path
    budget: int = DEFAULT_BUDGET
    max_tier: int = MAX_TIER
    engines: tuple[Engine, ...] = ()
    usual_engines: Mapping[int, str] = field(default_factory=dict)
    tools: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    models: Mapping[int, str] = field(default_factory=dict)
    caps: SpendingCaps = field(default_factory=SpendingCaps)
    max_turns: int = MAX_TURNS
    session_seconds: float = 900.0
    idle_seconds: float = 300.0
    hosts: tuple[str, ...] = ()
    lexicon: Lexicon = field(default_factory=builtin_lexicon)
    webhook_token: str = ""
    webhook_tier: int = 1
    agents: tuple[Agent, ...] = ()
    window: timedelta = WINDOW
    trash_kept: timedelta | None = TRASH_RETENTION
    figures: CountCache = field(default_factory=CountCache)
    brake: HaltControl = field(default_factory=HaltControl)
    near: SemanticIndex | None = None

    def known(self) -> list[str]:
        """Return the names of the services as they are spelled."""
        return [service.name for service in self.services()]


def api_context(request: Request) -> ApiContext:
    """Return the door a request came in by."""
    found: ApiContext = request.app.state.door
    return found
