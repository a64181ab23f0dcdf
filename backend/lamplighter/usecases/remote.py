"""An agent's knowledge where a memory service elsewhere keeps it (AgentOps' contract).

Nothing of it is kept here: what is saved, found and told is there alone. What we send
is admitted and masked as if it were kept here.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lamplighter import telemetry
from lamplighter.domain import agent_block
from lamplighter.domain.admit import admitted_knowledge
from lamplighter.domain.agent import MOST_CONTEXT, Agent
from lamplighter.domain.context import CHARS_PER_TOKEN
from lamplighter.domain.errors import NotFound
from lamplighter.domain.knowledge import Kept, Outcome
from lamplighter.domain.memory import Candidate, Memory
from lamplighter.domain.search import Results, Wanted
from lamplighter.domain.session import Session, Status
from lamplighter.domain.text import one_line
from lamplighter.usecases import observed, remote_rows
from lamplighter.usecases.agent_context import AgentContext
from lamplighter.usecases.remote_wire import Wire, part

SUMMARY: Final = "session_summary"
ID_BYTES: Final = 6
TITLE_CHARS: Final = 80
CONTEXT_CHARS: Final = 20_000
OUTCOMES: Final = {each.value: each for each in Outcome}


@dataclass(slots=True)
class Remotes:
    """Who keeps the knowledge of agents elsewhere; each agent has one session open there."""

    redact: Callable[[str], str]
    _known: dict[str, "Remote"] = field(default_factory=dict)

    def of(self, agent: Agent) -> "Remote":
        """Return what keeps an agent's knowledge."""
        held = self._known.get(agent.name)
        if held is None or held.agent != agent:
            held = self._known[agent.name] = Remote(agent, self.redact)
        return held


@dataclass(slots=True)
class Remote:
    """Keeps and finds the knowledge of one agent in a service elsewhere.

    Every use may raise NotFound, Invalid, Conflict and Unavailable, in words.
    """

    agent: Agent
    redact: Callable[[str], str]
    _open: str = ""

    @property
    def _wire(self) -> Wire:
        return Wire(self.agent, self.redact)

    @observed.save
    async def save(self, candidate: Candidate, *, session_id: str | None) -> Kept:
        """Keep a piece of knowledge, in the open session unless another is named."""
        candidate = admitted_knowledge(candidate, self.redact)
        session = one_line(session_id or "") or await self._session(candidate.project)
        found = await self._wire.post("/observations", _sent(candidate, session))
        row = found if isinstance(found, dict) else {}
        memory = remote_rows.memory({**row, **_sent(candidate, session)}, project=candidate.project)
        return Kept(OUTCOMES.get(str(row.get("action")), Outcome.CREATED), memory)

    @observed.search
    async def search(self, wanted: Wanted) -> Results:
        """Find what is kept in the project that is wanted, and the global of all."""
        kinds, project = wanted.categories, wanted.project or self.agent.reads
        wire = self._wire
        answer = await wire.get(
            "/search",
            q=self.redact(one_line(wanted.query)),
            project=project,
            type=kinds[0].value if len(kinds) == 1 else None,
            limit=wanted.limit,
        )
        rows = remote_rows.within(remote_rows.rows(answer), project)
        wished = [each for each in rows if not kinds or remote_rows.category(each) in kinds]
        found = [
            remote_rows.found(row, rank, project=project) for rank, row in enumerate(wished, 1)
        ]
        missing = wire.missing
        return Results(found=tuple(found[: wanted.limit]), partial=bool(missing), missing=missing)

    async def context(
        self, project: str, query: str, *, limit: int, budget: int | None = None
    ) -> AgentContext:
        """Return what the speaker is told; its text is made here, whatever the service wrote."""
        limit, query = min(max(limit, 0), MOST_CONTEXT), one_line(query)[: agent_block.QUERY_CHARS]
        query = self.redact(query)
        with telemetry.span("memory.inject", {"lamplighter.project": project}) as span:
            wire = self._wire
            wanted = {"project": project, "query": query, "limit": limit, "budget": budget}
            answer = await wire.get("/context", **wanted)
            found = self._told(answer if isinstance(answer, dict) else {}, project, limit, budget)
            ways = [(each.memory, each.method.value) for each in found.told]
            observed.injected(span, "agent", ways, found.tokens)
        return replace(found, query=query, partial=bool(wire.missing), missing=wire.missing)

    async def read(self, project: str, memory_id: int) -> Memory:
        """Return one memory whole; raises NotFound."""
        row = await self._wire.get(f"/observations/{memory_id}")
        if not remote_rows.within([row] if isinstance(row, dict) else [], project):
            raise NotFound(f"There is no memory {memory_id} in the project {project}.")
        return remote_rows.memory(row, project=project)

    async def start(self, project: str, session_id: str, directory: str | None) -> Session:
        """Begin a session; begun twice it is the same one."""
        name = one_line(session_id) or f"{self.agent.name}-{secrets.token_hex(ID_BYTES)}"
        where = self.redact(one_line(directory or ""))
        given = {"id": name, "project": project, "directory": where}
        row = await self._wire.post("/sessions", given)
        self._open = name
        return self._as_session({**given, **(row if isinstance(row, dict) else {})}, project)

    async def summarize(self, project: str, session_id: str | None, summary: str) -> Session:
        """Write down what a session did: such a service keeps it as an observation of its own."""
        name = one_line(session_id or "") or await self._session(project)
        words = self.redact(summary.strip())
        given = {
            "session_id": name,
            "type": SUMMARY,
            "title": f"Summary of {name}"[:TITLE_CHARS],
            "content": words,
            "project": project,
        }
        await self._wire.post("/observations", given)
        return self._as_session({"id": name, "project": project, "summary": words}, project)

    async def end(self, project: str, session_id: str | None, summary: str) -> Session:
        """End a session, the open one unless another is named."""
        name = one_line(session_id or "") or self._open
        if not name:
            raise NotFound("You have no open session: begin one with mem_session_start.")
        words = self.redact(summary.strip()) if self.agent.auto_summarize else ""
        given = {"messages": [], **({"summary": words} if words else {})}
        row = await self._wire.post(f"/sessions/{part(name)}/end", given)
        self._open = "" if name == self._open else self._open
        row = row if isinstance(row, dict) else {}
        ended = self._as_session({"summary": words, **row, "id": name}, project)
        return replace(ended, status=Status.COMPLETED)

    async def _session(self, project: str) -> str:
        """Return the open session, begun now where there is none."""
        if not self._open:
            await self.start(project, "", None)
        return self._open

    def _as_session(self, row: dict[str, Any], project: str) -> Session:
        return remote_rows.session(row, project=project, agent=self.agent.name)

    def _told(
        self, answer: dict[str, Any], project: str, limit: int, budget: int | None
    ) -> AgentContext:
        begun = remote_rows.rows(answer.get("recent_sessions"))
        kept = remote_rows.rows(answer.get("recent_observations"))
        ours = remote_rows.within(begun, project, share=False)[: agent_block.SESSIONS]
        sessions = [self._as_session(dict(each), project) for each in ours]
        told = [
            remote_rows.told(each, project=project)
            for each in remote_rows.within(kept, project)[:limit]
        ]
        text = agent_block.rendered((each.summary for each in sessions), told)
        if budget is not None:
            text, told = agent_block.packed(sessions, told, budget=budget)
        if not begun and not kept and limit:  # one that answers with a text alone
            room = CONTEXT_CHARS if budget is None else min(CONTEXT_CHARS, CHARS_PER_TOKEN * budget)
            text = agent_block.quoted(remote_rows.text(answer.get("context"))[:room])
        placements = agent_block.placements(told, ())
        return AgentContext(
            text=text, sessions=tuple(sessions), told=tuple(told), placements=tuple(placements)
        )


def _sent(candidate: Candidate, session: str) -> dict[str, Any]:
    given = {
        "session_id": session,
        "type": candidate.category.value,
        "title": candidate.title or one_line(candidate.observation)[:TITLE_CHARS],
        "content": candidate.observation,
        "tags": list(candidate.tags),
        "project": candidate.project,
        "scope": candidate.scope,
        "topic_key": candidate.topic_key,
    }
    return {name: value for name, value in given.items() if value not in (None, [])}
