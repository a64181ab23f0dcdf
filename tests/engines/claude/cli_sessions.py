"""Sessions of the real CLI, run as the supervisor runs them."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from real_cli import engine

from contexts import changed
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.context import SessionPrompt
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.engines import ToolEndpoint
from lamplighter.mcp.session_server import SessionServer
from lamplighter.repository.memory import exposures
from lamplighter.repository.services import events
from lamplighter.repository.store import tables
from lamplighter.supervisor.run import runner
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.sessions.toolbox import Tool
from messages_api import MessagesApi, Script

SERVICES = Services((Service(name="caddy"), Service(name="jellyfin")))


@dataclass
class Sessions:
    """Runs sessions of the real CLI, and reads the rows that they left in the database."""

    context: SessionContext
    api: MessagesApi
    server: SessionServer
    running: SessionContext = field(init=False)
    tools: list[Tool] = field(default_factory=list)

    async def run(
        self,
        scenario: str,
        script: Script,
        *,
        tier: int = 1,
        services: Services = SERVICES,
        **more: Any,
    ) -> Session:
        """Run one session whose model answers by a script; `more` changes its context."""
        self.api.scenarios[scenario] = script
        by = {"claude": engine(self.api.url(scenario))}
        self.running = here = changed(self.context, engines=by, open_tools=self.opened, **more)
        return await runner.run(here, SessionPlan(engine="claude", tier=tier), services)

    def opened(self, box: Toolbox) -> AbstractAsyncContextManager[ToolEndpoint]:
        """Open an endpoint for a session's own tools, or for those of the test if there are any."""
        return self.server.open(replace(box, tools=tuple(self.tools)) if self.tools else box)

    async def rows(self, table: str) -> list[dict[str, Any]]:
        found = getattr(tables, table)
        query = found.select().order_by(found.c.id)
        return [dict(row) for row in await self.context.db.fetch_all(query)]

    async def told(self) -> list[tuple[str, str]]:
        """Return the events, oldest first."""
        page = await events.page(self.context.db, events.EventSelection(), limit=100)
        return [(each.level, each.text) for each in reversed(page.items)]

    async def prompt(self, session: Session) -> SessionPrompt:
        found = await exposures.prompt(self.context.db, session.id)
        assert found is not None
        return found

    def system(self, scenario: str) -> str:
        """Return the system prompt of the model's last request."""
        block = self.api.requests(scenario)[-1].body["system"][-1]
        return str(block["text"])
