"""The context of the routes in a web process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request

from lamplighter.api.hub import Hub
from lamplighter.api.row_counts import CountCache, MatchCounts
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.search.search import SemanticIndex
from lamplighter.domain.services.service import Services
from lamplighter.domain.services.vitals import VitalSign
from lamplighter.engines import Engine
from lamplighter.usecases.configuration.context import ConfigurationContext
from lamplighter.usecases.context import Context
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.sessions.halt import HaltControl
from lamplighter.usecases.verify.batch import VerificationAccess


class HealthSource(Protocol):
    """Source of the health signs of this installation."""

    async def signs(self) -> Sequence[tuple[datetime, VitalSign]]:
        """Return every sign with the moment of its check."""

    async def look_closer(self) -> Sequence[tuple[datetime, VitalSign]]:
        """Run also the expensive checks; this takes some seconds."""


class ActiveSettingsSource(Protocol):
    """Reads the active configuration and writes settings."""

    async def as_json(self) -> Mapping[str, Any]:
        """Return the active configuration as JSON, without secrets."""

    def line_of(self, name: str, text: str) -> str:
        """Return the line of `lamplighter.toml` that sets a setting; raises Invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryServiceContext(Context):
    """The context of the memory service; `near` is the semantic search of memories."""

    active: Configuration = field(default_factory=Configuration)
    near: SemanticIndex | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContext(MemoryServiceContext):
    """The context of the routes of a web process; `services` raises if the file is invalid."""

    hub: Hub
    services: Callable[[], Services]
    problems: Callable[[], list[dict[str, object]]]
    services_path: str
    health: HealthSource
    settings: ActiveSettingsSource
    session_files: Path
    engines: tuple[Engine, ...] = ()
    tools: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    figures: CountCache = field(default_factory=CountCache)
    matches: MatchCounts = field(default_factory=MatchCounts)
    halt_control: HaltControl = field(default_factory=HaltControl)
    notebook: NotebookContext | None = None
    configuration: ConfigurationContext | None = None
    verification: VerificationAccess | None = None
    device_key: Callable[[], str] = str
    """Returns the public key that devices subscribe with."""


@asynccontextmanager
async def running(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run work in the background until the block ends."""
    tasks = [asyncio.create_task(each) for each in work]
    yield
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def api_context(request: Request) -> ApiContext:
    """Return the context of a request."""
    found: ApiContext = request.app.state.context
    return found


def service_context(request: Request) -> MemoryServiceContext:
    """Return the context of a request to the memory service."""
    found: MemoryServiceContext = request.app.state.context
    return found
