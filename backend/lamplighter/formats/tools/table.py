"""The table of all tools: each is declared here, once, for sessions or for clients."""

from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta, field

from lamplighter.domain.clients.agent import MOST_CONTEXT
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.memory.admit import MAX_KEY_CHARS, MAX_TITLE_CHARS
from lamplighter.domain.memory.memory import (
    GLOBAL,
    MAX_OBSERVATION_CHARS,
    OPERATIONAL,
    PROJECT,
    Category,
)
from lamplighter.domain.text import PROJECT_CHARS
from lamplighter.formats.tools import definition
from lamplighter.formats.tools.definition import LARGEST, READS, RECORDS, ToolHints, number, text
from lamplighter.formats.tools.definition import ToolDefinition as Tool

NAME_CHARS: Final = 64
QUERY_CHARS: Final = 500
PAGE_CHARS: Final = 200
REASON_CHARS: Final = 500
SUMMARY_CHARS: Final = 10_000
SESSION_CHARS: Final = 200
READ_BYTES: Final = 12_000
MAX_NEIGHBORS: Final = 20

WRITE: Final = "knowledge:write"
HAND_OFF: Final = "sessions:write"
CONFIRM: Final = "memories:write"
SEE_SESSIONS: Final = "sessions:read"
SEE_SERVICES: Final = "services:read"

_ACTS: Final = ToolHints(destructive=True, open_world=True)
_REPLACES: Final = ToolHints(destructive=True)
_CATEGORIES: Final = tuple(each for each in Category if each not in OPERATIONAL)

_Service = Annotated[str, text("The service's name, as under Environment.", NAME_CHARS)]
_Page = Annotated[str, text("The path of a page of the notebook.", PAGE_CHARS)]
_AboutService = Annotated[str, text("The service; default: all services.", NAME_CHARS)]
_Reason = Annotated[str, text("The reason, in one sentence; a person may read it.", REASON_CHARS)]
_Check = text("The name of one check; default: all checks.", NAME_CHARS)
_Repeated = number("The ID of the action run that did not help, to repeat it once.", 1, LARGEST)
_Offset = number(
    "The start byte; negative values count from the end: -4000 reads the last 4,000.",
    -LARGEST,
    LARGEST,
)


class SessionInput(definition.ToolInput):
    """The input of a tool of the supervisor's sessions."""

    audience: ClassVar = definition.Audience.SESSION


@Tool("look", "Check a service", ToolHints(open_world=True), seconds=None)
class CheckService(SessionInput):
    """Run the declared checks of a service now, or one of them. Returns status, latency,
    failures and recent check results. Works for services in scope and their dependencies."""

    example: ClassVar = {"service": "jellyfin"}
    service: _Service
    check: Annotated[str, _Check] | None = None


@Tool("run_action", "Run an action", _ACTS, tiers=(MAX_TIER,), seconds=None)
class RunAction(SessionInput):
    """Run a declared action of a service, limited by its cooldown. It may wait for approval
    by a person. Returns the outcome. A refusal is final: do not insist."""

    example: ClassVar = {
        "service": "jellyfin",
        "action": "restart",
        "reason": "Refuses connections since 10:40",
    }
    service: _Service
    action: Annotated[str, text("The action's name, as under Environment.", NAME_CHARS)]
    reason: _Reason
    again: Annotated[int, _Repeated] | None = None


@Tool("read_file", "Read a file", READS, reads=True)
class ReadFile(SessionInput):
    """Read part of a text file, such as a log, in an allowed directory. Links are not
    followed. For a directory, lists its entries."""

    example: ClassVar = {"path": "/var/log/jellyfin/main.log", "offset": -4000}
    path: Annotated[str, text("The absolute path.", 4_096)]
    offset: Annotated[int, _Offset] = 0
    limit: Annotated[int, number("The maximum bytes, up to 12,000.", 1, READ_BYTES)] = READ_BYTES


@Tool("run_command", "Run a command", _ACTS, commands=True, seconds=None)
class RunCommand(SessionInput):
    """Run one read-only command: no pipes, no redirection, no variables, absolute paths. A
    declared action given as a command runs as that action, limited by its cooldown."""

    example: ClassVar = {
        "command": "journalctl -u jellyfin -n 50 --no-pager",
        "reason": "Why it ended",
    }
    command: Annotated[str, text("The command with its arguments, quoted if needed.", 4_000)]
    reason: _Reason


@Tool("mem_search", "Search memories", RECORDS, names_service=True)
class SearchMemories(SessionInput):
    """Search the memories of earlier sessions and people by keyword. There are more memories
    than Operational Memory shows."""

    example: ClassVar = {"query": "restart fails first time", "service": "jellyfin"}
    query: Annotated[str, text("Keywords; matches with more of them come first.", QUERY_CHARS)]
    service: _AboutService | None = None
    limit: Annotated[int, number("The maximum results; default: 8.", 1, 20)] = 8


@Tool("read_memory", "Read a memory", RECORDS, names_service=True)
class ReadMemory(SessionInput):
    """Read the full text of a memory by its ID from mem_search.
    Or read a page of the notebook by its path: MEMORY, services/jellyfin."""

    example: ClassVar = {"id": 42}
    id: Annotated[int, number("The ID of the memory.", 1, LARGEST)] | None = None
    page: _Page | None = None


@Tool("mem_save", "Save a memory", RECORDS, names_service=True)
class SaveObservation(SessionInput):
    """Save one fact that a colleague needs next time, like a line [MEMORY:category:service].
    Only your own observations; no secrets."""

    example: ClassVar = {
        "category": "timing",
        "observation": "Takes 60s to start after a restart.",
        "service": "jellyfin",
    }
    category: Annotated[str, text("The category.", NAME_CHARS, of=OPERATIONAL)]
    observation: Annotated[str, text("The fact, in one or two sentences.", 2_000)]
    service: _AboutService | None = None


_Evidence = text("The failure, the evidence, and the suggested repair.", REASON_CHARS)


@Tool("handoff", "Escalate a service", RECORDS, names_service=True)
class EscalateService(SessionInput):
    """Escalate a service to the next tier when your session completes, like a line
    [ESCALATE:service]. At the highest tier it requests a person."""

    example: ClassVar = {
        "service": "jellyfin",
        "reason": "Connection refused on port 8096 since 10:40.",
    }
    service: _Service
    reason: Annotated[str, _Evidence]


_Id = Annotated[int, number("The id of the memory.", 1, LARGEST)]
_Session = Annotated[
    str, text("The session; default: the last session you started.", SESSION_CHARS)
]
_Type = Annotated[str, text("The category.", NAME_CHARS, of=_CATEGORIES)]
_AnyType = Annotated[str, text("The category.", NAME_CHARS, of=Category)]
_Subject = text("The subject, in a few words that people would search for.", MAX_TITLE_CHARS)
_Title = Annotated[str, _Subject]
_Fact = text("The fact, the reason, the place, and how to use it.", MAX_OBSERVATION_CHARS)
_Content = Annotated[str, _Fact]
_Tag = Annotated[str, Meta(max_length=100)]
_Tags = Annotated[tuple[_Tag, ...], Meta(description="A few keywords.", max_length=20)]
_LASTING = "A lasting name for a fact that may change, such as architecture/auth-model. "
_Metadata = Annotated[
    dict[str, Any],
    Meta(description="More facts as a small JSON object; mem_search finds meta.key:value."),
]
_Key = Annotated[
    str, text(f"{_LASTING}Saving again with the same key replaces the text.", MAX_KEY_CHARS)
]
_GLOBAL = "global: visible in every project. Default: project."
_Scope = Annotated[str, text(_GLOBAL, NAME_CHARS, of=(PROJECT, GLOBAL))]
_Project = Annotated[str, text("The project; default: the usual project.", PROJECT_CHARS)]
_AboutFact = Annotated[str, text("The service, if the fact is about a service.", NAME_CHARS)]


class ClientInput(definition.ToolInput, kw_only=True):
    """The input of a tool of clients, with the project if the client chooses it."""

    audience: ClassVar = definition.Audience.CLIENT
    project: _Project | None = None


_Task = text("The task you are about to start; default: the newest memories.", QUERY_CHARS)
_Budget = number(
    "Maximum tokens of the context: full texts with dates while there is room. Default: "
    "300 characters of each memory.",
    0,
    1_000_000,
)


@Tool("mem_context", "Get the context", RECORDS, remote=True)
class GetContext(ClientInput):
    """Get summaries of the last sessions and the relevant memories. Call this when you
    start, and when you have lost track."""

    example: ClassVar = {"query": "deploy the memory service to staging", "budget": 2000}
    query: Annotated[str, _Task] = ""
    limit: Annotated[int, number("Maximum number of memories.", 0, MOST_CONTEXT)] | None = None
    budget: Annotated[int, _Budget] | None = None


_Question = text("Keywords or a question; any word matches, rare words count most.", QUERY_CHARS)


@Tool("mem_search", "Search memories", READS, switch=lambda agent: agent.auto_search, remote=True)
class SearchKnowledge(ClientInput):
    """Search the memories of this project, best match first. Search before you make a
    decision or fix a problem: there may be an earlier decision or fix."""

    example: ClassVar = {"query": "SQLite WAL mode configuration", "limit": 10}
    query: Annotated[str, _Question]
    type: Annotated[str, text("Only this category.", NAME_CHARS, of=Category)] | None = None
    limit: Annotated[int, number("Maximum number of results; default: 10.", 1, 50)] = 10


@Tool("read_memory", "Read a memory", RECORDS, remote=True)
class ReadKnowledge(ClientInput):
    """Read one memory in full, by its id from mem_search, mem_context or mem_timeline.
    Or read one page of the notebook, by its path: MEMORY, projects/blog."""

    example: ClassVar = {"id": 42}
    id: _Id | None = None
    page: _Page | None = None


@Tool(
    "mem_save",
    "Save a memory",
    RECORDS,
    scope=WRITE,
    switch=lambda agent: agent.auto_save,
    remote=True,
)
class SaveKnowledge(ClientInput):
    """Save one fact for later sessions: a decision, a bug and its fix, a discovery, a
    preference. Save results and lessons, not each step. Never save secrets."""

    example: ClassVar = {
        "type": "decision",
        "title": "WAL mode for SQLite",
        "content": "WAL lets reads continue during a write; WAL ended the SQLITE_BUSY errors.",
        "tags": ["sqlite", "performance"],
    }
    type: _Type
    title: _Title
    content: _Content
    tags: _Tags = ()
    topic_key: _Key | None = None
    scope: _Scope = PROJECT
    service: _AboutFact | None = None
    session_id: _Session | None = None
    metadata: _Metadata = field(default_factory=dict)


class SaveFromSession(SaveKnowledge, kw_only=True):
    """Knowledge saved by a session of the supervisor; operational facts have no title."""

    type: _AnyType
    title: _Title = ""


@Tool("mem_update", "Correct a memory", ToolHints(idempotent=True), scope=WRITE)
class CorrectKnowledge(ClientInput):
    """Correct a memory that is wrong or incomplete. Omitted fields stay unchanged. The
    history stores the previous text."""

    example: ClassVar = {
        "id": 42,
        "content": "WAL mode and busy_timeout=5000; one of them alone is not enough.",
    }
    id: _Id
    title: _Title | None = None
    content: _Content | None = None
    type: _Type | None = None
    tags: _Tags | None = None
    topic_key: _Key | None = None
    scope: _Scope | None = None
    metadata: _Metadata | None = None


@Tool("mem_confirm", "Confirm a memory", ToolHints(idempotent=True), scope=CONFIRM)
class ConfirmKnowledge(ClientInput):
    """Confirm a memory that the user typed in an earlier session and now says is correct.
    Contexts no longer label it as unverified. Call this only if the user asks for it."""

    example: ClassVar = {"id": 42}
    id: _Id


@Tool("mem_verify", "Verify a memory", RECORDS, scope=WRITE)
class VerifyKnowledge(ClientInput):
    """Test what a memory states against the files, repositories, services and checks that
    the operator allows. Call this before you rely on an old memory. A failed memory gets a
    review for a person."""

    example: ClassVar = {"id": 42}
    id: _Id


@Tool("mem_delete", "Withdraw a memory", ToolHints(destructive=True, idempotent=True), scope=WRITE)
class WithdrawKnowledge(ClientInput):
    """Withdraw a memory that is wrong or no longer true. Contexts and searches exclude
    the memory. A person can restore it."""

    example: ClassVar = {"id": 42}
    id: _Id


@Tool("mem_timeline", "Show a timeline", READS)
class ShowTimeline(ClientInput):
    """List the memories saved just before and after one memory."""

    example: ClassVar = {"id": 42, "before": 3, "after": 3}
    id: _Id
    before: Annotated[int, number("Memories before; default: 3.", 0, MAX_NEIGHBORS)] = 3
    after: Annotated[int, number("Memories after; default: 3.", 0, MAX_NEIGHBORS)] = 3


_Node = text(
    "A service, a topic key, a session id, a memory id or the name of an entity; default: an "
    "outline of the project.",
    200,
)


@Tool("mem_graph", "Show relations", READS)
class ShowGraph(ClientInput):
    """Show relations: the memories of a topic, service or session, its dependencies,
    contradictions, replacements, memories saved together, and what memories state of people,
    projects, tools and decisions."""

    example: ClassVar = {"about": "jellyfin", "depth": 1}
    about: Annotated[str, _Node] = ""
    depth: Annotated[int, number("Maximum distance in steps; default: 1.", 1, 3)] = 1


_Question = text("The question, or what was decided on: `why PostgreSQL`.", 500)


@Tool("mem_why", "Explain a decision", READS)
class ExplainDecision(ClientInput):
    """Explain why something was decided: the decision, its rationale, who decided, and the
    memories behind it. Ask before you propose an alternative: it may have been rejected."""

    example: ClassVar = {"question": "Why PostgreSQL for the job queue?"}
    question: Annotated[str, _Question]


_OwnId = text("Your own session id; default: a generated id.", SESSION_CHARS)


@Tool("mem_session_start", "Start a session", RECORDS, scope=WRITE, remote=True, opens_session=True)
class StartClientSession(ClientInput):
    """Start a session. Later saves belong to this session. Returns the session id."""

    example: ClassVar = {"directory": "/home/ann/shop"}
    session_id: Annotated[str, _OwnId] = ""
    directory: Annotated[str, text("Your working directory.", 1_000)] | None = None


_Goal = text("The goal, the work done, the findings, and open tasks.", SUMMARY_CHARS)


@Tool(
    "mem_session_summary",
    "Save a session summary",
    _REPLACES,
    scope=WRITE,
    switch=lambda agent: agent.auto_summarize,
    remote=True,
    opens_session=True,
)
class SummarizeClientSession(ClientInput):
    """Save a summary of this session for the next one. A later summary replaces it."""

    example: ClassVar = {
        "summary": "Moved the queue to Redis; open: retries of failed jobs (queue/retry.py)."
    }
    summary: Annotated[str, _Goal]
    session_id: _Session | None = None


_Done = text("The work done, the findings, and open tasks.", SUMMARY_CHARS)


@Tool("mem_session_end", "End a session", _REPLACES, scope=WRITE, remote=True, opens_session=True)
class EndClientSession(ClientInput):
    """End your session, preferably with a summary for the next one."""

    example: ClassVar = {"summary": "Queue moved to Redis and deployed; nothing is open."}
    summary: Annotated[str, _Done] = ""
    session_id: _Session | None = None


_Note = text("Information that helps the person to decide.", 1_000)


@Tool("mem_review", "List open reviews", RECORDS)
class ListReviews(ClientInput):
    """List memories that may contradict each other and need a person's review. With an id
    and a note, add a note for that person. Only a person decides."""

    example: ClassVar = {
        "id": 7,
        "note": "Measured today: 75 s after a cold start, 60 s otherwise.",
    }
    id: Annotated[int, number("The id of the review for the note.", 1, LARGEST)] | None = None
    note: Annotated[str, _Note] | None = None


@Tool("mem_stats", "Count memories", READS)
class CountKnowledge(ClientInput):
    """Count the memories of this project by category, its sessions and open reviews."""


_IncidentId = number("The id of one incident, to read its timeline.", 1, LARGEST)


@Tool("incidents", "List incidents", READS, scope=SEE_SESSIONS)
class ListIncidents(ClientInput):
    """List open incidents of services and the newest resolved ones: root cause, affected
    services, state and outcome. With an id, read what happened, what repaired it, and what
    was learned. Use it before you change a service, and when one fails."""

    example: ClassVar = {"service": "jellyfin"}
    id: Annotated[int, _IncidentId] | None = None
    service: Annotated[str, text("Only incidents of this service.", NAME_CHARS)] = ""


@Tool("service", "Read the status of a service", READS, scope=SEE_SERVICES)
class ReadService(ClientInput):
    """Read the status of a service: its checks with their last results, its uptime and latency,
    what it depends on, its newest incidents, its strongest memories, and how often its actions
    may run now."""

    example: ClassVar = {"service": "jellyfin"}
    service: Annotated[str, text("The service name, as in services.yaml.", NAME_CHARS)]


_Observed = text("The failure, its start time, and your own observations.", REASON_CHARS)


@Tool("handoff", "Request an investigation", RECORDS, scope=HAND_OFF)
class RequestInvestigation(ClientInput):
    """Request an investigation of a service. A session investigates and may escalate to
    a repair."""

    example: ClassVar = {
        "service": "jellyfin",
        "reason": "Answers 502 since the deployment at 10:40.",
    }
    service: Annotated[str, text("The service name, as in services.yaml.", NAME_CHARS)]
    reason: Annotated[str, _Observed]
