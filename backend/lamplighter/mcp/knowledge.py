"""The interface of a knowledge store for client tools: local, or a remote service."""

from typing import Protocol

from lamplighter.domain.memory.knowledge import SavedKnowledge
from lamplighter.domain.memory.memory import Candidate, Memory
from lamplighter.domain.search.search import SearchRequest, SearchResults
from lamplighter.domain.sessions.session import Session
from lamplighter.usecases.clients.agent_context import ContextBlock


class KnowledgeStore(Protocol):
    """Keeps and finds the knowledge of one speaker; each may raise a LamplighterError.

    `project` is always the one that the speaker is bound to, or has chosen.
    """

    async def save(self, candidate: Candidate, *, session_id: str | None) -> SavedKnowledge:
        """Keep a piece of knowledge, in the open session unless another is named."""

    async def search(self, request: SearchRequest) -> SearchResults:
        """Find what is kept in the project that is wanted, and the global of all."""

    async def context(
        self, project: str, query: str, *, limit: int, budget: int | None = None
    ) -> ContextBlock:
        """Return the context of an agent: the best for its query, then the newest.

        With a `budget` of tokens each text is whole while there is room.
        """

    async def read(self, project: str, memory_id: int) -> Memory:
        """Return one memory whole; raises NotFound."""

    async def page(self, project: str, path: str) -> str:
        """Return a page of the notebook, as far as the project reads it; raises NotFound."""

    async def start(self, project: str, session_id: str, directory: str | None) -> Session:
        """Begin a session; begun twice it is the same one."""

    async def summarize(self, project: str, session_id: str | None, summary: str) -> Session:
        """Write down what a session did, the open one unless another is named."""

    async def end(self, project: str, session_id: str | None, summary: str) -> Session:
        """End a session, the open one unless another is named; ended again it stays as it is."""
