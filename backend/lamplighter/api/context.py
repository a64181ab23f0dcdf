"""What every route needs: the database, the rules in force, and the feed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request

from lamplighter.api.hub import Hub
from lamplighter.api.row_counts import Kept
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.relate import Lexicon, built_in
from lamplighter.domain.search.search import Near
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Services
from lamplighter.domain.services.vitals import Sign
from lamplighter.domain.sessions.context import DEFAULT_BUDGET
from lamplighter.domain.sessions.cost import MAX_TURNS, Caps
from lamplighter.domain.sessions.session import MAX_TIER
from lamplighter.engines import Engine
from lamplighter.repository import Database
from lamplighter.usecases.memory.journal import TRASH_KEPT
from lamplighter.usecases.memory.knowledge import WINDOW
from lamplighter.usecases.sessions.halt import Brake


class Healthy(Protocol):
    """What can tell whether this installation is well."""

    async def signs(self) -> Sequence[tuple[datetime, Sign]]:
        """Return every sign with the moment it was looked at."""

    async def look_closer(self) -> Sequence[tuple[datetime, Sign]]:
        """Look at what is dear too; takes its time."""


class InForce(Protocol):
    """What can tell which settings are in force, and how one is written."""

    async def shown(self) -> Mapping[str, Any]:
        """Return the settings in force as JSON, without their secrets."""

    def line_of(self, name: str, text: str) -> str:
        """Return the line of `lamplighter.toml` that sets a setting; raises Invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One web process's view of the product; `services` raises when the file is broken."""

    db: Database
    hub: Hub
    now: Callable[[], datetime]
    services: Callable[[], Services]
    problems: Callable[[], list[dict[str, object]]]
    services_path: str
    redact: Redactor
    health: Healthy
    settings: InForce
    session_files: Path
    budget: int = DEFAULT_BUDGET
    max_tier: int = MAX_TIER
    engines: tuple[Engine, ...] = ()
    usual_engines: Mapping[int, str] = field(default_factory=dict)
    tools: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    models: Mapping[int, str] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    max_turns: int = MAX_TURNS
    session_seconds: float = 900.0
    idle_seconds: float = 300.0
    hosts: tuple[str, ...] = ()
    lexicon: Lexicon = field(default_factory=built_in)
    webhook_token: str = ""
    webhook_tier: int = 1
    agents: tuple[Agent, ...] = ()
    window: timedelta = WINDOW
    trash_kept: timedelta | None = TRASH_KEPT
    figures: Kept = field(default_factory=Kept)
    brake: Brake = field(default_factory=Brake)
    near: Near | None = None

    def known(self) -> list[str]:
        """Return the names of the services as they are spelled."""
        return [service.name for service in self.services()]


def door(request: Request) -> Door:
    """Return the door a request came in by."""
    found: Door = request.app.state.door
    return found
