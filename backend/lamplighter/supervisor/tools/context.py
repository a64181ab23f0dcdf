"""The context of the tools of one session."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lamplighter.domain.actions.policy import quote_name
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.services.service import Service
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.usecases.ingest.context import IngestContext
from lamplighter.usecases.search.session_search import SearchingSession


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """One session, its permissions, and the ingestion of its reports."""

    gate: Gate
    ingest: Callable[[], IngestContext]
    readable: Readable = field(default_factory=Readable)
    used: Counter[str] = field(default_factory=Counter)

    def count(self, tool: str, most: int) -> None:
        """Count a tool use; raises Conflict if it exceeds the limit."""
        if self.used[tool] >= most:
            raise Conflict(f"This session has reached its limit of {most} uses of {tool}.")
        self.used[tool] += 1

    def asker(self, tool: str) -> SearchingSession:
        """Return the identity under which a tool searches the memories."""
        gate = self.gate
        return SearchingSession(
            session_id=gate.session.id,
            tool=tool,
            service_names=gate.services.names,
            project=gate.session.project,
        )

    def near(self, name: str) -> Service:
        """Return a service in scope, or one of their dependencies; raises NotFound, Conflict."""
        service, scope = self.declared(name), self.gate.session.services
        inside = [each for each in self.gate.services if scope is None or each.name in scope]
        around = self.gate.services.with_needs(inside)
        if service not in around:
            names = ", ".join(each.name for each in around) or "none"
            raise Conflict(
                f"{service.name} is not in the scope of this session. In scope: {names}."
            )
        return service

    def declared(self, name: str) -> Service:
        """Return a declared service; raises NotFound naming the declared ones."""
        found = self.gate.services.find(name)
        if found is None:
            names = ", ".join(each.name for each in self.gate.services) or "none"
            raise NotFound(f"{quote_name(name)} is not in services.yaml. Declared: {names}.")
        return found
