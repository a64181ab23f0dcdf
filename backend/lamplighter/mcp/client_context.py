"""The context of clients: the part shared in a process, and the part of one client."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from lamplighter.domain.access.access import Caller
from lamplighter.domain.actions.policy import quote_name
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import NotFound, Unavailable
from lamplighter.domain.memory.knowledge import SavedKnowledge
from lamplighter.domain.memory.memory import Candidate, Memory
from lamplighter.domain.search.search import SearchRequest, SearchResults, SemanticIndex
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Session
from lamplighter.formats.tools.table import ClientInput
from lamplighter.usecases.clients.agent_context import ContextBlock, check_project, speaker_of
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify.batch import VerificationAccess


class KnowledgeStore(Protocol):
    """Stores and finds the knowledge of a caller; each method may raise a LamplighterError.

    `project` is always the one that the caller is bound to, or has chosen.
    """

    async def save(self, candidate: Candidate, *, session_id: str | None) -> SavedKnowledge:
        """Store knowledge, in the open session unless another is named."""

    async def search(self, request: SearchRequest) -> SearchResults:
        """Search the requested project, and the global memories of all projects."""

    async def context(
        self, project: str, query: str, *, limit: int, budget: int | None = None
    ) -> ContextBlock:
        """Return the context of an agent: the best matches of its query, then the newest.

        With a `budget` of tokens each text is complete while there is room.
        """

    async def read(self, project: str, memory_id: int) -> Memory:
        """Return one memory whole; raises NotFound."""

    async def page(self, project: str, path: str) -> str:
        """Return a page of the notebook, as far as the project reads it; raises NotFound."""

    async def start(self, project: str, session_id: str, directory: str | None) -> Session:
        """Begin a session; begun twice it is the same one."""

    async def summarize(self, project: str, session_id: str | None, summary: str) -> Session:
        """Store the summary of a session, the open one unless another is named."""

    async def end(self, project: str, session_id: str | None, summary: str) -> Session:
        """End a session, the open one unless another is named; an ended session stays unchanged."""


OpenRemote = Callable[[Agent], KnowledgeStore]
"""Returns the knowledge store of an agent with a memory service of its own."""


def _no_remote(agent: Agent) -> KnowledgeStore:
    raise Unavailable(
        f"{agent.name} stores its knowledge in another service, which this server does not query."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientContext(Context):
    """The context of the client tools; `open` are the open sessions of tokens in this process.

    `near` is the semantic search, if available. `verification` tests memories.
    """

    active: Configuration = field(default_factory=Configuration)
    services: Callable[[], Services]
    remote: OpenRemote = _no_remote
    near: SemanticIndex | None = None
    verification: VerificationAccess | None = None
    open: dict[tuple[str, int, str], str] = field(default_factory=dict)

    async def speaker(self, caller: Caller, *, project: str = "") -> ClientIdentity:
        """Return the identity of a caller; raises Invalid, Conflict."""
        return await speaker_of(self.db, caller, self.active.agents, project=project)

    def declared_service(self, name: str) -> Service:
        """Return a service of services.yaml; raises NotFound."""
        found = self.services().find(name)
        if found is None:
            names = ", ".join(self.services().names) or "none"
            what = f"{quote_name(name)} is not in services.yaml"
            raise NotFound(f"{what}; declared services: {names}.")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerContext:
    """One client, and the store of its knowledge."""

    context: ClientContext
    speaker: ClientIdentity
    knowledge: KnowledgeStore

    def project(self, arguments: ClientInput) -> str:
        """Return the project of one use; raises Invalid."""
        return check_project(arguments.project) if arguments.project else self.speaker.project

    @property
    def session_number(self) -> int | None:
        """The session of Lamplighter that calls; None for a client."""
        return self.speaker.session.id if self.speaker.session else None
