"""The tools that clients use over MCP: the purpose and the arguments of each.

The token of a client and the settings of its agent determine which tools it has, never its
text. People, agents and models read these descriptions.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lamplighter.domain.clients.agent import MOST_CONTEXT
from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.domain.memory.admit import MAX_KEY_CHARS, MAX_TITLE_CHARS
from lamplighter.domain.memory.memory import (
    GLOBAL,
    MAX_OBSERVATION_CHARS,
    OPERATIONAL,
    PROJECT,
    Category,
)
from lamplighter.domain.project import PROJECT_CHARS
from lamplighter.formats.schemas import (
    LARGEST,
    Schema,
    list_schema,
    number_schema,
    object_schema,
    text_schema,
)
from lamplighter.formats.session_tools import NAME_CHARS, QUERY_CHARS, REASON_CHARS, ToolDefinition

TAGS: Final = 20
TAG_CHARS: Final = 100
RESULTS: Final = 50
DEFAULT_RESULTS: Final = 10
BUDGET: Final = 1_000_000
MAX_NEIGHBORS: Final = 20
DEFAULT_NEIGHBORS: Final = 3
DEPTH: Final = 3
SUMMARY_CHARS: Final = 10_000
SESSION_CHARS: Final = 200
DIRECTORY_CHARS: Final = 1_000
NOTE_CHARS: Final = 1_000
ABOUT_CHARS: Final = 200

KNOWLEDGE: Final = tuple(each for each in Category if each not in OPERATIONAL)

_PROJECT: Final = text_schema("The project; default: the usual project.", PROJECT_CHARS)
_SESSION: Final = text_schema("The session; default: the last session you started.", SESSION_CHARS)
_NUMBER: Final = number_schema("The id of the memory.", 1, LARGEST)
_TITLE: Final = text_schema(
    "The subject, in a few words that people would search for.", MAX_TITLE_CHARS
)
_CONTENT: Final = text_schema(
    "The fact, the reason, the place, and how to use it.", MAX_OBSERVATION_CHARS
)
_TAGS: Final = list_schema("A few keywords.", TAGS, TAG_CHARS)
_KEY: Final = text_schema(
    "A lasting name for a fact that may change, such as architecture/auth-model. Saving again "
    "with the same key replaces the text.",
    MAX_KEY_CHARS,
)
_SCOPE: Final = text_schema(
    "global: visible in every project. Default: project.",
    NAME_CHARS,
    enum=[PROJECT, GLOBAL],
)


def _type(about: str, of: tuple[Category, ...] = KNOWLEDGE) -> Schema:
    return text_schema(about, NAME_CHARS, enum=[each.value for each in of])


MEM_SAVE: Final = ToolDefinition(
    name="mem_save",
    about="Save one fact for later sessions: a decision, a bug and its fix, a discovery, a "
    "preference. Save results and lessons, not each step. Never save secrets.",
    schema=object_schema(
        {
            "type": "decision",
            "title": "WAL mode for SQLite",
            "content": "WAL lets reads continue during a write; WAL ended the SQLITE_BUSY errors.",
            "tags": ["sqlite", "performance"],
        },
        3,
        type=_type("The category."),
        title=_TITLE,
        content=_CONTENT,
        tags=_TAGS,
        topic_key=_KEY,
        scope=_SCOPE,
        service=text_schema("The service, if the fact is about a service.", NAME_CHARS),
        session_id=_SESSION,
    ),
)
MEM_SEARCH: Final = ToolDefinition(
    name="mem_search",
    about="Search the memories of this project, best match first. Search before you make a "
    "decision or fix a problem: there may be an earlier decision or fix.",
    schema=object_schema(
        {"query": "SQLite WAL mode configuration", "limit": 10},
        1,
        query=text_schema(
            "Keywords or a question; any word matches, rare words count most.", QUERY_CHARS
        ),
        type=_type("Only this category.", tuple(Category)),
        limit=number_schema(f"Maximum number of results; default: {DEFAULT_RESULTS}.", 1, RESULTS),
    ),
)
MEM_CONTEXT: Final = ToolDefinition(
    name="mem_context",
    about="Get summaries of the last sessions and the relevant memories. Call this when you "
    "start, and when you have lost track.",
    schema=object_schema(
        {"query": "deploy the memory service to staging", "budget": 2000},
        0,
        query=text_schema(
            "The task you are about to start; default: the newest memories.", QUERY_CHARS
        ),
        limit=number_schema("Maximum number of memories.", 0, MOST_CONTEXT),
        budget=number_schema(
            "Maximum tokens of the context: full texts with dates while there is room. Default: "
            "300 characters of each memory.",
            0,
            BUDGET,
        ),
    ),
)
READ_MEMORY: Final = ToolDefinition(
    name="read_memory",
    about="Read one memory in full, by its id from mem_search, mem_context or mem_timeline.",
    schema=object_schema({"id": 42}, 1, id=_NUMBER),
)
MEM_TIMELINE: Final = ToolDefinition(
    name="mem_timeline",
    about="List the memories saved just before and after one memory.",
    schema=object_schema(
        {"id": 42, "before": 3, "after": 3},
        1,
        id=_NUMBER,
        before=number_schema(f"Memories before; default: {DEFAULT_NEIGHBORS}.", 0, MAX_NEIGHBORS),
        after=number_schema(f"Memories after; default: {DEFAULT_NEIGHBORS}.", 0, MAX_NEIGHBORS),
    ),
)
MEM_GRAPH: Final = ToolDefinition(
    name="mem_graph",
    about="Show relations: the memories of a topic, service or session, its dependencies, "
    "contradictions, replacements, and memories saved together. Nothing is inferred.",
    schema=object_schema(
        {"about": "jellyfin", "depth": 1},
        0,
        about=text_schema(
            "A service, a topic key, a session id or a memory id; default: an outline of the "
            "project.",
            ABOUT_CHARS,
        ),
        depth=number_schema("Maximum distance in steps; default: 1.", 1, DEPTH),
    ),
)
MEM_UPDATE: Final = ToolDefinition(
    name="mem_update",
    about="Correct a memory that is wrong or incomplete. Omitted fields stay unchanged. The "
    "history stores the previous text.",
    schema=object_schema(
        {"id": 42, "content": "WAL mode and busy_timeout=5000; one of them alone is not enough."},
        1,
        id=_NUMBER,
        title=_TITLE,
        content=_CONTENT,
        type=_type("The category."),
        tags=_TAGS,
        topic_key=_KEY,
        scope=_SCOPE,
    ),
)
MEM_DELETE: Final = ToolDefinition(
    name="mem_delete",
    about="Withdraw a memory that is wrong or no longer true. Contexts and searches exclude "
    "the memory. A person can restore it.",
    schema=object_schema({"id": 42}, 1, id=_NUMBER),
)
MEM_SESSION_START: Final = ToolDefinition(
    name="mem_session_start",
    about="Start a session. Later saves belong to this session. Returns the session id.",
    schema=object_schema(
        {"directory": "/home/ann/shop"},
        0,
        session_id=text_schema("Your own session id; default: a generated id.", SESSION_CHARS),
        directory=text_schema("Your working directory.", DIRECTORY_CHARS),
    ),
)
MEM_SESSION_SUMMARY: Final = ToolDefinition(
    name="mem_session_summary",
    about="Save a summary of this session for the next one. A later summary replaces it.",
    schema=object_schema(
        {"summary": "Moved the queue to Redis; open: retries of failed jobs (queue/retry.py)."},
        1,
        summary=text_schema(
            "The goal, the work done, the findings, and open tasks.", SUMMARY_CHARS
        ),
        session_id=_SESSION,
    ),
)
MEM_SESSION_END: Final = ToolDefinition(
    name="mem_session_end",
    about="End your session, preferably with a summary for the next one.",
    schema=object_schema(
        {"summary": "Queue moved to Redis and deployed; nothing is open."},
        0,
        summary=text_schema("The work done, the findings, and open tasks.", SUMMARY_CHARS),
        session_id=_SESSION,
    ),
)
MEM_REVIEW: Final = ToolDefinition(
    name="mem_review",
    about="List memories that may contradict each other and need a person's review. With an id "
    "and a note, add a note for that person. Only a person decides.",
    schema=object_schema(
        {"id": 7, "note": "Measured today: 75 s after a cold start, 60 s otherwise."},
        0,
        id=number_schema("The id of the review for the note.", 1, LARGEST),
        note=text_schema("Information that helps the person to decide.", NOTE_CHARS),
    ),
)
MEM_STATS: Final = ToolDefinition(
    name="mem_stats",
    about="Count the memories of this project by category, its sessions and open reviews.",
    schema=object_schema({}, 0),
)
HANDOFF: Final = ToolDefinition(
    name="handoff",
    about="Request an investigation of a service. A session investigates and may escalate to "
    "a repair.",
    schema=object_schema(
        {"service": "jellyfin", "reason": "Answers 502 since the deployment at 10:40."},
        2,
        service=text_schema("The service name, as in services.yaml.", NAME_CHARS),
        reason=text_schema("The failure, its start time, and your own observations.", REASON_CHARS),
    ),
)

CLIENT_TOOLS: Final = (
    MEM_CONTEXT,
    MEM_SEARCH,
    READ_MEMORY,
    MEM_SAVE,
    MEM_UPDATE,
    MEM_DELETE,
    MEM_TIMELINE,
    MEM_GRAPH,
    MEM_SESSION_START,
    MEM_SESSION_SUMMARY,
    MEM_SESSION_END,
    MEM_REVIEW,
    MEM_STATS,
    HANDOFF,
)
WRITES: Final = frozenset(
    each.name
    for each in (
        *(MEM_SAVE, MEM_UPDATE, MEM_DELETE),
        *(MEM_SESSION_START, MEM_SESSION_SUMMARY, MEM_SESSION_END),
    )
)
"""The tools that change data on every call."""

ELSEWHERE: Final = frozenset(
    each.name
    for each in (
        *(MEM_CONTEXT, MEM_SEARCH, READ_MEMORY, MEM_SAVE),
        *(MEM_SESSION_START, MEM_SESSION_SUMMARY, MEM_SESSION_END),
    )
)
"""The tools of an agent with a remote memory service."""

_OWN_SESSION: Final = frozenset(
    each.name for each in (MEM_SESSION_START, MEM_SESSION_SUMMARY, MEM_SESSION_END)
)


def client_tools(speaker: ClientIdentity) -> tuple[ToolDefinition, ...]:
    """Return the tools of a speaker, each with its permitted arguments."""
    return tuple(_restrict_arguments(speaker, each) for each in _permitted_tools(speaker))


def _permitted_tools(speaker: ClientIdentity) -> Iterator[ToolDefinition]:
    agent, missing = speaker.agent, set[str]()
    if not speaker.writes:
        missing |= WRITES
    if not speaker.hands_on:
        missing.add(HANDOFF.name)
    if speaker.session is not None:
        missing |= _OWN_SESSION  # Lamplighter starts and ends this session
    if agent is not None:
        missing |= {MEM_SAVE.name} if not agent.auto_save else set()
        missing |= {MEM_SEARCH.name} if not agent.auto_search else set()
        missing |= {MEM_SESSION_SUMMARY.name} if not agent.auto_summarize else set()
    for each in CLIENT_TOOLS:
        if each.name not in missing and (not speaker.elsewhere or each.name in ELSEWHERE):
            yield each


def _restrict_arguments(speaker: ClientIdentity, offer: ToolDefinition) -> ToolDefinition:
    """Return an offer with the arguments of this speaker: no project if the token sets it."""
    given = dict(offer.schema["properties"])
    required = list(offer.schema["required"])
    if speaker.session is not None and offer is MEM_SAVE:
        del given["session_id"]
        given["type"] = _type("The category.", tuple(Category))
        required.remove("title")
    if not speaker.writes and offer is MEM_REVIEW:
        given, about = (
            {},
            "List memories that may contradict each other and need a person's review.",
        )
        offer = replace(offer, about=about, schema={**offer.schema, "examples": [{}]})
    if speaker.chooses:
        given["project"] = _PROJECT
    return replace(offer, schema={**offer.schema, "properties": given, "required": required})
