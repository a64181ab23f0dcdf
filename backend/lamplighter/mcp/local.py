"""The knowledge in this database, under the same rules as everything else."""

import secrets
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory.knowledge import SavedKnowledge
from lamplighter.domain.memory.memory import Candidate, Memory
from lamplighter.domain.search.search import SearchRequest, SearchResults
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line
from lamplighter.formats.tools.table import ReadKnowledge, SearchKnowledge
from lamplighter.mcp.client_context import ClientContext
from lamplighter.repository import writing
from lamplighter.repository.clients import client_sessions, interactive_sessions
from lamplighter.repository.memory import exposures
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.clients import client_sessions as clients
from lamplighter.usecases.clients.agent_context import ContextBlock, agent_context
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.notebook.read import read_page
from lamplighter.usecases.search import session_search
from lamplighter.usecases.search.session_search import SearchingSession

NO_OPEN_SESSION: Final = (
    "You have no open session. Start one with mem_session_start, or send its session_id."
)
ID_BYTES: Final = 6


@dataclass(frozen=True, slots=True)
class LocalKnowledge:
    """Stores and finds the knowledge of a caller in this database."""

    here: ClientContext
    speaker: ClientIdentity

    async def save(self, candidate: Candidate, *, session_id: str | None) -> SavedKnowledge:
        """Store knowledge, in the open session unless another is named."""
        here = self.here
        async with writing(here.db):
            session = await self._session(candidate.project, session_id)
            if session is not None:
                candidate = replace(candidate, session_id=session.id, tier=session.tier)
            window, by = here.active.duplicate_window, self.speaker.label
            return await knowledge.save(here, candidate, window=window, by=by)

    async def search(self, request: SearchRequest) -> SearchResults:
        """Search the requested project, and the global memories of all projects."""
        if self.speaker.session is not None:
            asker = self._asker(self.speaker.session, SearchKnowledge.tool.name)
            return await session_search.search_and_record(
                self.here, request, asker, near=self.here.near
            )
        query = self.here.redact(request.query)
        asked, here = replace(request, query=query), self.here
        results = await session_search.find(here.db, asked, now=here.now(), near=here.near)
        # project isolation must not depend on the search
        kept = [
            each
            for each in results.results
            if project_wall.is_visible(request.project or "", each.row)
        ]
        return replace(results, results=tuple(kept[: request.limit]))

    async def context(
        self, project: str, query: str, *, limit: int, budget: int | None = None
    ) -> ContextBlock:
        """Return the context of a client: the best matches for its query, then the newest."""
        here, session = self.here, await self._session(project, None)
        return await agent_context(
            here,
            project,
            query,
            limit=limit,
            session_id=session.id if session else None,
            near=here.near,
            budget=budget,
        )

    async def read(self, project: str, memory_id: int) -> Memory:
        """Return one memory whole; raises NotFound."""
        here, session = self.here, self.speaker.session
        if session is not None:
            asker = self._asker(session, ReadKnowledge.tool.name)
            memory = await session_search.read(here, memory_id, asker)
        else:
            memory = await project_wall.get_visible(here.db, project, memory_id)
        await exposures.record_access(here.db, [memory.id], here.now())
        return memory

    async def page(self, project: str, path: str) -> str:
        """Return a page of the notebook, as far as the project reads it; raises NotFound."""
        here, session = self.here, self.speaker.session
        cap = here.active.profile.index_bytes
        found = await read_page(here.db, path, project, now=here.now(), cap=cap)
        if session is not None:
            asker = self._asker(session, ReadKnowledge.tool.name)
            await session_search.note_read(here, asker, path, found.memories)
        await exposures.record_access(here.db, [each.id for each in found.memories], here.now())
        return found.text

    async def start(self, project: str, session_id: str, directory: str | None) -> Session:
        """Begin a session; begun twice it is the same one."""
        here, agent = self.here, self.speaker.agent
        identifier = session_id or f"mcp-{self.speaker.caller.id}-{secrets.token_hex(ID_BYTES)}"
        opening = clients.NewSession(
            external_id=identifier,
            project=project,
            agent=agent.name if agent else None,
            directory=directory and here.redact(one_line(directory)),
            token_id=self._token,
        )
        async with writing(here.db):
            held = await self._called(one_line(identifier))
            if held is not None and not self._mine(held, project):
                raise Conflict(
                    f"The session {one_line(identifier)} belongs to another client. Choose another "
                    f"session id."
                )
            session, _ = await clients.start(here.db, opening, now=here.now())
        here.open[self._key(project)] = session.external_id or identifier
        return session

    async def summarize(self, project: str, session_id: str | None, summary: str) -> Session:
        """Store the summary of a session, the open one unless another is named."""
        here = self.here
        async with writing(here.db):
            session = await self._named(project, session_id)
            words = here.redact(summary.strip())
            return await interactive_sessions.set_summary(
                here.db, session.id, words, now=here.now()
            )

    async def end(self, project: str, session_id: str | None, summary: str) -> Session:
        """End a session, the open one unless another is named; an ended session stays unchanged."""
        here, agent = self.here, self.speaker.agent
        async with writing(here.db):
            session = await self._named(project, session_id)
            ended = await clients.end(
                here,
                session.external_id or "",
                [],
                summarize=agent is None or agent.auto_summarize,
                summary=summary or session.summary,
                agent=agent.name if agent else None,
            )
        if here.open.get(self._key(project)) == session.external_id:
            del here.open[self._key(project)]
        return ended

    async def _named(self, project: str, session_id: str | None) -> Session:
        session = await self._session(project, session_id)
        if session is None:
            raise NotFound(NO_OPEN_SESSION)
        return session

    async def _session(self, project: str, session_id: str | None) -> Session | None:
        """Return the session that is named, else the open one; raises NotFound."""
        if self.speaker.session is not None:
            return self.speaker.session
        identifier = session_id and one_line(session_id)
        name = identifier or self.here.open.get(self._key(project))
        if name is None:
            return await self._left_open(project)
        held = await self._called(name)
        if held is not None and self._mine(held, project) and (identifier or held.running):
            return held
        if identifier:
            raise NotFound(f"You have no session {identifier} in the project {project}.")
        return None

    async def _left_open(self, project: str) -> Session | None:
        """Return the session that the same token left open before this process began."""
        agent = self.speaker.agent
        if agent is None and self._token is None:  # people without a token are indistinguishable
            return None
        name = agent.name if agent else None
        return await interactive_sessions.newest(self.here.db, project, name, token_id=self._token)

    async def _called(self, name: str) -> Session | None:
        agent = self.speaker.agent
        return await client_sessions.by_agent(self.here.db, name, agent.name if agent else None)

    def _asker(self, session: Session, tool: str) -> SearchingSession:
        return SearchingSession(session_id=session.id, tool=tool, project=session.project)

    @property
    def _token(self) -> int | None:
        return self.speaker.caller.id or None

    def _mine(self, session: Session, project: str) -> bool:
        """Whether a session is the speaker's: an agent's by whatever token, else by this one."""
        agent = self.speaker.agent.name if self.speaker.agent else None
        known = agent is not None or session.token_id in (None, self._token)
        return session.project == project and session.agent == agent and known

    def _key(self, project: str) -> tuple[str, int, str]:
        return (self.speaker.caller.kind, self.speaker.caller.id, project)
