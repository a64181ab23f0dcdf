"""An agent's knowledge in a remote memory service (AgentOps' contract).

Nothing is stored here: saves, searches and contexts use the service alone. Texts that are sent are
validated and masked in the same way as texts that are stored here.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from lamplighter import telemetry
from lamplighter.domain.clients import agent_block
from lamplighter.domain.clients.agent import MOST_CONTEXT, Agent
from lamplighter.domain.clients.agent_block import IncludedMemory, shorten_content
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.admit import admit_knowledge
from lamplighter.domain.memory.knowledge import SavedKnowledge, SaveOutcome
from lamplighter.domain.memory.memory import (
    GLOBAL,
    INITIAL_CONFIDENCE,
    OPERATIONAL,
    PROJECT,
    Candidate,
    Category,
    Memory,
    MemoryId,
    Source,
)
from lamplighter.domain.search.search import (
    SearchLayer,
    SearchMethod,
    SearchRequest,
    SearchResult,
    SearchResults,
)
from lamplighter.domain.sessions.context import CHARS_PER_TOKEN
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.text import clean_lines, normalize_project, one_line, shorten
from lamplighter.usecases import instrumentation
from lamplighter.usecases.clients.agent_context import ContextBlock
from lamplighter.usecases.clients.remote_http import RemoteClient, path_segment

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
KNOWLEDGE: Final = {each.value: each for each in Category if each not in OPERATIONAL}
METHODS: Final = {each.value: each for each in SearchMethod}
ENDED: Final = {each.value: each for each in Status}
ROW_TITLE_CHARS: Final = 500
TEXT_CHARS: Final = 50_000
LISTS: Final = ("results", "observations", "items")


def rows_of(found: Any) -> list[Mapping[str, Any]]:
    """Return the rows of an answer: a list, or an object that contains a list."""
    if isinstance(found, Mapping):
        found = next((found[name] for name in LISTS if isinstance(found.get(name), list)), [])
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def visible_rows(
    rows: Sequence[Mapping[str, Any]], project: str, *, share: bool = True
) -> list[Mapping[str, Any]]:
    """Return the rows that a project may see, whatever the service returned.

    A row without a project belongs to the requested project. With `share`, rows of scope global are
    visible to every project.
    """
    return [
        each
        for each in rows
        if (normalize_project(text_field(each.get("project"))) or project) == project
        or (share and each.get("scope") == GLOBAL)
    ]


def category_of_row(row: Mapping[str, Any]) -> Category:
    """Return the category of an observation; an unknown type is a learning."""
    return KNOWLEDGE.get(text_field(row.get("type")).lower(), Category.LEARNING)


def memory_from_row(row: Mapping[str, Any], *, project: str) -> Memory:
    """Return an observation as a memory."""
    created = time_field(row.get("created_at"))
    updated = time_field(row.get("updated_at")) if row.get("updated_at") else created
    tags = row.get("tags")
    return Memory(
        id=MemoryId(integer_field(row.get("id"))),
        category=category_of_row(row),
        service=None,
        observation=block_field(row.get("content")),
        confidence=INITIAL_CONFIDENCE,
        active=True,
        tier=0,
        session_id=None,
        created_at=created,
        updated_at=updated,
        title=text_field(row.get("title"))[:ROW_TITLE_CHARS],
        tags=tuple(map(text_field, tags)) if isinstance(tags, list) else (),
        project=normalize_project(text_field(row.get("project"))) or project,
        scope=GLOBAL if row.get("scope") == GLOBAL else PROJECT,
        topic_key=text_field(row.get("topic_key")) or None,
        revision_count=max(1, integer_field(row.get("revision_count"))),
        duplicate_count=max(1, integer_field(row.get("duplicate_count"))),
        source=Source.CLIENT,
        source_ref="a remote memory service",
    )


def found_from_row(row: Mapping[str, Any], rank: int, *, project: str) -> SearchResult:
    """Return a row of a search as a result; a lower rank of the service is a higher score."""
    memory = memory_from_row(row, project=project)
    return SearchResult(
        layer=SearchLayer.MEMORY,
        row=memory,
        rank=rank,
        score=-number_field(row.get("rank")),
        method=METHODS.get(text_field(row.get("method")), SearchMethod.WORDS),
        text=memory.observation,
    )


def included_from_row(row: Mapping[str, Any], *, project: str) -> IncludedMemory:
    """Return an observation of a context, with its text cut to the size of a content."""
    kept = memory_from_row(row, project=project)
    method = METHODS.get(text_field(row.get("method")), SearchMethod.RECENT)
    return IncludedMemory(
        kept, method, -number_field(row.get("rank")), shorten_content(kept.observation)
    )


def session_from_row(row: Mapping[str, Any], *, project: str, agent: str) -> Session:
    """Return a session; its ID here is 0."""
    ended = row.get("ended_at")
    status = ENDED.get(text_field(row.get("status")), Status.RUNNING)
    return Session(
        id=0,
        tier=0,
        engine="client",
        trigger=Trigger.CLIENT,
        status=Status.COMPLETED if ended and status is Status.RUNNING else status,
        started_at=time_field(row.get("started_at")),
        ended_at=time_field(ended) if ended else None,
        external_id=text_field(row.get("id") or row.get("session_id")),
        agent=agent,
        project=project,
        summary=block_field(row.get("summary")),
    )


def time_field(value: Any) -> datetime:
    """Return a time in any common ISO format; the epoch if the value is not a time."""
    try:
        read = datetime.fromisoformat(str(value).strip().replace(" ", "T"))
    except ValueError:
        return EPOCH
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def text_field(value: Any) -> str:
    """Return a text of one line; empty if the value is not a string."""
    return one_line(value) if isinstance(value, str) else ""


def block_field(value: Any) -> str:
    """Return a text of several lines; empty if the value is not a string."""
    return shorten(clean_lines(value), TEXT_CHARS) if isinstance(value, str) else ""


def integer_field(value: Any) -> int:
    """Return an integer within the range of a row; 0 if the value is not a number."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return min(max(int(value), 0), 2**63 - 1)
        except (ValueError, OverflowError):
            return 0
    return 0


def number_field(value: Any) -> float:
    """Return a finite number; 0 if the value is not a number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12:
        return float(value)
    return 0.0


SUMMARY: Final = "session_summary"
ID_BYTES: Final = 6
TITLE_CHARS: Final = 80
CONTEXT_CHARS: Final = 20_000
OUTCOMES: Final = {each.value: each for each in SaveOutcome}


@dataclass(slots=True)
class RemoteStores:
    """The remote stores of agents, each with one open session in its service."""

    redact: Callable[[str], str]
    _stores: dict[str, "RemoteStore"] = field(default_factory=dict)

    def of(self, agent: Agent) -> "RemoteStore":
        """Return the remote store of an agent."""
        held = self._stores.get(agent.name)
        if held is None or held.agent != agent:
            held = self._stores[agent.name] = RemoteStore(agent, self.redact)
        return held


@dataclass(slots=True)
class RemoteStore:
    """The knowledge of one agent in a remote service.

    Every method may raise NotFound, Invalid, Conflict and Unavailable, with a readable message.
    """

    agent: Agent
    redact: Callable[[str], str]
    _open: str = ""

    @property
    def _wire(self) -> RemoteClient:
        return RemoteClient(self.agent, self.redact)

    @instrumentation.trace_save
    async def save(self, candidate: Candidate, *, session_id: str | None) -> SavedKnowledge:
        """Save knowledge, in the open session unless another session is named."""
        candidate = admit_knowledge(candidate, self.redact)
        session = one_line(session_id or "") or await self._session(candidate.project)
        found = await self._wire.post("/observations", _sent(candidate, session))
        row = found if isinstance(found, dict) else {}
        memory = memory_from_row({**row, **_sent(candidate, session)}, project=candidate.project)
        return SavedKnowledge(OUTCOMES.get(str(row.get("action")), SaveOutcome.CREATED), memory)

    @instrumentation.trace_search
    async def search(self, request: SearchRequest) -> SearchResults:
        """Search the knowledge of the requested project, and global knowledge."""
        kinds, project = request.categories, request.project or self.agent.reads
        wire = self._wire
        answer = await wire.get(
            "/search",
            q=self.redact(one_line(request.query)),
            project=project,
            type=kinds[0].value if len(kinds) == 1 else None,
            limit=request.limit,
        )
        rows = visible_rows(rows_of(answer), project)
        selected = [each for each in rows if not kinds or category_of_row(each) in kinds]
        found = [found_from_row(row, rank, project=project) for rank, row in enumerate(selected, 1)]
        missing = wire.missing
        return SearchResults(
            results=tuple(found[: request.limit]), partial=bool(missing), missing=missing
        )

    async def context(
        self, project: str, query: str, *, limit: int, budget: int | None = None
    ) -> ContextBlock:
        """Return the context of a client; its text is rendered here, not taken from the service."""
        limit, query = min(max(limit, 0), MOST_CONTEXT), one_line(query)[: agent_block.QUERY_CHARS]
        query = self.redact(query)
        with telemetry.span("memory.inject", {"lamplighter.project": project}) as span:
            wire = self._wire
            wanted = {"project": project, "query": query, "limit": limit, "budget": budget}
            answer = await wire.get("/context", **wanted)
            found = self._context_block(
                answer if isinstance(answer, dict) else {}, project, limit, budget
            )
            ways = [(each.memory, each.method.value) for each in found.included]
            instrumentation.trace_included(span, "agent", ways, found.tokens)
        return replace(found, query=query, partial=bool(wire.missing), missing=wire.missing)

    async def read(self, project: str, memory_id: int) -> Memory:
        """Return a memory with its full text; raises NotFound."""
        row = await self._wire.get(f"/observations/{memory_id}")
        if not visible_rows([row] if isinstance(row, dict) else [], project):
            raise NotFound(f"Memory {memory_id} not found in the project {project}.")
        return memory_from_row(row, project=project)

    async def page(self, project: str, path: str) -> str:
        """Raise NotFound: the other service has no notebook."""
        raise NotFound(f"The memory service of {self.agent.name} has no page {path!r}.")

    async def start(self, project: str, session_id: str, directory: str | None) -> Session:
        """Start a session; a second start with the same ID continues the same session."""
        name = one_line(session_id) or f"{self.agent.name}-{secrets.token_hex(ID_BYTES)}"
        where = self.redact(one_line(directory or ""))
        given = {"id": name, "project": project, "directory": where}
        row = await self._wire.post("/sessions", given)
        self._open = name
        return self._as_session({**given, **(row if isinstance(row, dict) else {})}, project)

    async def summarize(self, project: str, session_id: str | None, summary: str) -> Session:
        """Save the summary of a session, as an observation of type `session_summary`."""
        name = one_line(session_id or "") or await self._session(project)
        text = self.redact(summary.strip())
        payload = {
            "session_id": name,
            "type": SUMMARY,
            "title": f"Summary of {name}"[:TITLE_CHARS],
            "content": text,
            "project": project,
        }
        await self._wire.post("/observations", payload)
        return self._as_session({"id": name, "project": project, "summary": text}, project)

    async def end(self, project: str, session_id: str | None, summary: str) -> Session:
        """End the named session, or the open session."""
        name = one_line(session_id or "") or self._open
        if not name:
            raise NotFound("You have no open session. Start one with mem_session_start.")
        words = self.redact(summary.strip()) if self.agent.auto_summarize else ""
        given = {"messages": [], **({"summary": words} if words else {})}
        row = await self._wire.post(f"/sessions/{path_segment(name)}/end", given)
        self._open = "" if name == self._open else self._open
        row = row if isinstance(row, dict) else {}
        ended = self._as_session({"summary": words, **row, "id": name}, project)
        return replace(ended, status=Status.COMPLETED)

    async def _session(self, project: str) -> str:
        """Return the open session; start one if there is none."""
        if not self._open:
            await self.start(project, "", None)
        return self._open

    def _as_session(self, row: dict[str, Any], project: str) -> Session:
        return session_from_row(row, project=project, agent=self.agent.name)

    def _context_block(
        self, answer: dict[str, Any], project: str, limit: int, budget: int | None
    ) -> ContextBlock:
        begun = rows_of(answer.get("recent_sessions"))
        observations = rows_of(answer.get("recent_observations"))
        ours = visible_rows(begun, project, share=False)[: agent_block.SESSIONS]
        sessions = [self._as_session(dict(each), project) for each in ours]
        memories = [
            included_from_row(each, project=project)
            for each in visible_rows(observations, project)[:limit]
        ]
        text = agent_block.render_block((each.summary for each in sessions), memories)
        if budget is not None:
            text, memories = agent_block.pack_block(sessions, memories, budget=budget)
        if not begun and not observations and limit:  # a server that returns only text
            room = CONTEXT_CHARS if budget is None else min(CONTEXT_CHARS, CHARS_PER_TOKEN * budget)
            text = agent_block.quote_remote(block_field(answer.get("context"))[:room])
        placements = agent_block.explain_placements(memories, ())
        return ContextBlock(
            text=text,
            sessions=tuple(sessions),
            included=tuple(memories),
            placements=tuple(placements),
        )


def _sent(candidate: Candidate, session: str) -> dict[str, Any]:
    payload = {
        "session_id": session,
        "type": candidate.category.value,
        "title": candidate.title or one_line(candidate.observation)[:TITLE_CHARS],
        "content": candidate.observation,
        "tags": list(candidate.tags),
        "project": candidate.project,
        "scope": candidate.scope,
        "topic_key": candidate.topic_key,
    }
    return {name: value for name, value in payload.items() if value not in (None, [])}
