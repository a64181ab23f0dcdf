"""The tools that clients use over MCP: the purpose and the arguments of each.

The token of a client and the settings of its agent determine which tools it has, never its
text. People, agents and models read these descriptions.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lamplighter.domain.clients.agent import MOST_CONTEXT
from lamplighter.domain.clients.speaker import Speaker
from lamplighter.domain.memory.admit import MAX_KEY_CHARS, MAX_TITLE_CHARS
from lamplighter.domain.memory.memory import MAX_OBSERVATION_CHARS, OPERATIONAL, PROJECT, Category
from lamplighter.domain.project import PROJECT_CHARS
from lamplighter.formats.schemas import LARGEST, Schema, number, takes, text, texts
from lamplighter.formats.session_tools import NAME_CHARS, QUERY_CHARS, REASON_CHARS, Offer

TAGS: Final = 20
TAG_CHARS: Final = 100
RESULTS: Final = 50
RESULTS_USUALLY: Final = 10
BUDGET: Final = 1_000_000
AROUND: Final = 20
AROUND_USUALLY: Final = 3
DEPTH: Final = 3
SUMMARY_CHARS: Final = 10_000
SESSION_CHARS: Final = 200
DIRECTORY_CHARS: Final = 1_000
NOTE_CHARS: Final = 1_000
ABOUT_CHARS: Final = 200
GLOBAL: Final = "global"

KNOWLEDGE: Final = tuple(each for each in Category if each not in OPERATIONAL)

_PROJECT: Final = text("The project; default: the usual project.", PROJECT_CHARS)
_SESSION: Final = text("The session; default: the last session you started.", SESSION_CHARS)
_NUMBER: Final = number("The id of the memory.", 1, LARGEST)
_TITLE: Final = text("The subject, in a few words that people would search for.", MAX_TITLE_CHARS)
_CONTENT: Final = text("The fact, the reason, the place, and how to use it.", MAX_OBSERVATION_CHARS)
_TAGS: Final = texts("A few keywords.", TAGS, TAG_CHARS)
_KEY: Final = text(
    "A lasting name for a fact that may change, such as architecture/auth-model. Saving again "
    "with the same key replaces the text.",
    MAX_KEY_CHARS,
)
_SCOPE: Final = text(
    "global: visible in every project. Default: project.",
    NAME_CHARS,
    enum=[PROJECT, GLOBAL],
)


def _type(about: str, of: tuple[Category, ...] = KNOWLEDGE) -> Schema:
    return text(about, NAME_CHARS, enum=[each.value for each in of])


MEM_SAVE: Final = Offer(
    name="mem_save",
    about="Save one fact for later sessions: a decision, a bug and its fix, a discovery, a "
    "preference. Save results and lessons, not each step. Never save secrets.",
    schema=takes(
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
        service=text("The service, if the fact is about a service.", NAME_CHARS),
        session_id=_SESSION,
    ),
)
MEM_SEARCH: Final = Offer(
    name="mem_search",
    about="Search the memories of this project, best match first. Search before you make a "
    "decision or fix a problem: there may be an earlier decision or fix.",
    schema=takes(
        {"query": "SQLite WAL mode configuration", "limit": 10},
        1,
        query=text("Keywords or a question; any word matches, rare words count most.", QUERY_CHARS),
        type=_type("Only this category.", tuple(Category)),
        limit=number(f"Maximum number of results; default: {RESULTS_USUALLY}.", 1, RESULTS),
    ),
)
MEM_CONTEXT: Final = Offer(
    name="mem_context",
    about="Get summaries of the last sessions and the relevant memories. Call this when you "
    "start, and when you have lost track.",
    schema=takes(
        {"query": "deploy the memory service to staging", "budget": 2000},
        0,
        query=text("The task you are about to start; default: the newest memories.", QUERY_CHARS),
        limit=number("Maximum number of memories.", 0, MOST_CONTEXT),
        budget=number(
            "Maximum tokens of the context: full texts with dates while there is room. Default: "
            "300 characters of each memory.",
            0,
            BUDGET,
        ),
    ),
)
READ_MEMORY: Final = Offer(
    name="read_memory",
    about="Read one memory in full, by its id from mem_search, mem_context or mem_timeline.",
    schema=takes({"id": 42}, 1, id=_NUMBER),
)
MEM_TIMELINE: Final = Offer(
    name="mem_timeline",
    about="List the memories saved just before and after one memory.",
    schema=takes(
        {"id": 42, "before": 3, "after": 3},
        1,
        id=_NUMBER,
        before=number(f"Memories before; default: {AROUND_USUALLY}.", 0, AROUND),
        after=number(f"Memories after; default: {AROUND_USUALLY}.", 0, AROUND),
    ),
)
MEM_GRAPH: Final = Offer(
    name="mem_graph",
    about="Show relations: the memories of a topic, service or session, its dependencies, "
    "contradictions, replacements, and memories saved together. Nothing is inferred.",
    schema=takes(
        {"about": "jellyfin", "depth": 1},
        0,
        about=text(
            "A service, a topic key, a session id or a memory id; default: an outline of the "
            "project.",
            ABOUT_CHARS,
        ),
        depth=number("Maximum distance in steps; default: 1.", 1, DEPTH),
    ),
)
MEM_UPDATE: Final = Offer(
    name="mem_update",
    about="Correct a memory that is wrong or incomplete. Omitted fields stay unchanged. The "
    "history stores the previous text.",
    schema=takes(
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
MEM_DELETE: Final = Offer(
    name="mem_delete",
    about="Withdraw a memory that is wrong or no longer true. Contexts and searches exclude "
    "the memory. A person can restore it.",
    schema=takes({"id": 42}, 1, id=_NUMBER),
)
MEM_SESSION_START: Final = Offer(
    name="mem_session_start",
    about="Start a session. Later saves belong to this session. Returns the session id.",
    schema=takes(
        {"directory": "/home/ann/shop"},
        0,
        session_id=text("Your own session id; default: a generated id.", SESSION_CHARS),
        directory=text("Your working directory.", DIRECTORY_CHARS),
    ),
)
MEM_SESSION_SUMMARY: Final = Offer(
    name="mem_session_summary",
    about="Save a summary of this session for the next one. A later summary replaces it.",
    schema=takes(
        {"summary": "Moved the queue to Redis; open: retries of failed jobs (queue/retry.py)."},
        1,
        summary=text("The goal, the work done, the findings, and open tasks.", SUMMARY_CHARS),
        session_id=_SESSION,
    ),
)
MEM_SESSION_END: Final = Offer(
    name="mem_session_end",
    about="End your session, preferably with a summary for the next one.",
    schema=takes(
        {"summary": "Queue moved to Redis and deployed; nothing is open."},
        0,
        summary=text("The work done, the findings, and open tasks.", SUMMARY_CHARS),
        session_id=_SESSION,
    ),
)
MEM_REVIEW: Final = Offer(
    name="mem_review",
    about="List memories that may contradict each other and need a person's review. With an id "
    "and a note, add a note for that person. Only a person decides.",
    schema=takes(
        {"id": 7, "note": "Measured today: 75 s after a cold start, 60 s otherwise."},
        0,
        id=number("The id of the review for the note.", 1, LARGEST),
        note=text("Information that helps the person to decide.", NOTE_CHARS),
    ),
)
MEM_STATS: Final = Offer(
    name="mem_stats",
    about="Count the memories of this project by category, its sessions and open reviews.",
    schema=takes({}, 0),
)
HANDOFF: Final = Offer(
    name="handoff",
    about="Request an investigation of a service. A session investigates and may escalate to "
    "a repair.",
    schema=takes(
        {"service": "jellyfin", "reason": "Answers 502 since the deployment at 10:40."},
        2,
        service=text("The service name, as in services.yaml.", NAME_CHARS),
        reason=text("The failure, its start time, and your own observations.", REASON_CHARS),
    ),
)

CLIENT_OFFERS: Final = (
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


def client_offers(speaker: Speaker) -> tuple[Offer, ...]:
    """Return the tools of a speaker, each with its permitted arguments."""
    return tuple(_for(speaker, each) for each in _offered(speaker))


def _offered(speaker: Speaker) -> Iterator[Offer]:
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
    for each in CLIENT_OFFERS:
        if each.name not in missing and (not speaker.elsewhere or each.name in ELSEWHERE):
            yield each


def _for(speaker: Speaker, offer: Offer) -> Offer:
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
