"""The tools that clients are offered over MCP: what each is for, and what it takes.

Which of them a client has comes from its token and the settings of its agent, never from
what it was told or says. People and agents read these words; so does a model.
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

_PROJECT: Final = text("The project; left out, the usual one.", PROJECT_CHARS)
_SESSION: Final = text("The session; left out, the last one you began.", SESSION_CHARS)
_NUMBER: Final = number("Its number.", 1, LARGEST)
_TITLE: Final = text("What it is about, in a few words that one would search for.", MAX_TITLE_CHARS)
_CONTENT: Final = text("What is true, why, where, and what to do about it.", MAX_OBSERVATION_CHARS)
_TAGS: Final = texts("A few words to file it under.", TAGS, TAG_CHARS)
_KEY: Final = text(
    "A lasting name for what may change, architecture/auth-model: saved again, the new words "
    "take the place of the old.",
    MAX_KEY_CHARS,
)
_SCOPE: Final = text(
    "global lets every project find it; project unless you say otherwise.",
    NAME_CHARS,
    enum=[PROJECT, GLOBAL],
)


def _type(about: str, of: tuple[Category, ...] = KNOWLEDGE) -> Schema:
    return text(about, NAME_CHARS, enum=[each.value for each in of])


MEM_SAVE: Final = Offer(
    name="mem_save",
    about="Keep one thing worth knowing next time: a decision, a bug and its fix, a discovery, a "
    "preference. Save when something is done or learned, not each step. No secrets.",
    schema=takes(
        {
            "type": "decision",
            "title": "WAL mode for SQLite",
            "content": "WAL lets reads go on while one writes; it ended the SQLITE_BUSY errors.",
            "tags": ["sqlite", "performance"],
        },
        3,
        type=_type("What kind of thing it is."),
        title=_TITLE,
        content=_CONTENT,
        tags=_TAGS,
        topic_key=_KEY,
        scope=_SCOPE,
        service=text("The service it is about, where it is one.", NAME_CHARS),
        session_id=_SESSION,
    ),
)
MEM_SEARCH: Final = Offer(
    name="mem_search",
    about="Search what is kept for this project, best first. Do so before you decide what may "
    "have been decided, or mend what may have broken before.",
    schema=takes(
        {"query": "SQLite WAL mode configuration", "limit": 10},
        1,
        query=text("Words or a question; any words count, the rare ones most.", QUERY_CHARS),
        type=_type("Only of this kind.", tuple(Category)),
        limit=number(f"How many, {RESULTS_USUALLY} unless you say otherwise.", 1, RESULTS),
    ),
)
MEM_CONTEXT: Final = Offer(
    name="mem_context",
    about="What the last sessions did and what is known that matters now. Ask for it when you "
    "begin, and when you have lost the thread.",
    schema=takes(
        {"query": "deploy the memory service to staging", "budget": 2000},
        0,
        query=text("What you are about to do; left out, the newest is told.", QUERY_CHARS),
        limit=number("How many memories at most.", 0, MOST_CONTEXT),
        budget=number(
            "Most tokens of the context: texts are whole while there is room, each with its date; "
            "left out, 300 characters of each.",
            0,
            BUDGET,
        ),
    ),
)
READ_MEMORY: Final = Offer(
    name="read_memory",
    about="Read one memory whole, by its number from mem_search, mem_context or mem_timeline.",
    schema=takes({"id": 42}, 1, id=_NUMBER),
)
MEM_TIMELINE: Final = Offer(
    name="mem_timeline",
    about="What was kept just before and after one memory: what else was going on then.",
    schema=takes(
        {"id": 42, "before": 3, "after": 3},
        1,
        id=_NUMBER,
        before=number(f"How many before it, {AROUND_USUALLY} usually.", 0, AROUND),
        after=number(f"How many after it, {AROUND_USUALLY} usually.", 0, AROUND),
    ),
)
MEM_GRAPH: Final = Offer(
    name="mem_graph",
    about="How things hang together: the memories of a topic, a service or a session, what it "
    "depends on, what contradicts or replaces what, what came together. Nothing is inferred.",
    schema=takes(
        {"about": "jellyfin", "depth": 1},
        0,
        about=text(
            "A service, a topic key, a session's id or a memory's number; left out, the project in "
            "outline.",
            ABOUT_CHARS,
        ),
        depth=number("How many steps from there, 1 usually.", 1, DEPTH),
    ),
)
MEM_UPDATE: Final = Offer(
    name="mem_update",
    about="Correct a memory that is wrong or incomplete; what you leave out stays. Its earlier "
    "words are kept in its history.",
    schema=takes(
        {"id": 42, "content": "WAL mode and busy_timeout=5000; one of them alone is not enough."},
        1,
        id=_NUMBER,
        title=_TITLE,
        content=_CONTENT,
        type=_type("What kind of thing it is."),
        tags=_TAGS,
        topic_key=_KEY,
        scope=_SCOPE,
    ),
)
MEM_DELETE: Final = Offer(
    name="mem_delete",
    about="Take back a memory that is no longer true or was a mistake: nobody is told it any "
    "more. A person can bring it back.",
    schema=takes({"id": 42}, 1, id=_NUMBER),
)
MEM_SESSION_START: Final = Offer(
    name="mem_session_start",
    about="Begin a session: what you save from here on belongs to it. Answers with its id.",
    schema=takes(
        {"directory": "/home/ann/shop"},
        0,
        session_id=text("Your own id for it; left out, one is made.", SESSION_CHARS),
        directory=text("The directory you work in.", DIRECTORY_CHARS),
    ),
)
MEM_SESSION_SUMMARY: Final = Offer(
    name="mem_session_summary",
    about="Write down what this session did: the next one is told. The last words stand.",
    schema=takes(
        {"summary": "Moved the queue to Redis; open: retries of failed jobs (queue/retry.py)."},
        1,
        summary=text("The goal, what was done and found, what is open.", SUMMARY_CHARS),
        session_id=_SESSION,
    ),
)
MEM_SESSION_END: Final = Offer(
    name="mem_session_end",
    about="End your session, best with a summary of it for the next one.",
    schema=takes(
        {"summary": "Queue moved to Redis and deployed; nothing is open."},
        0,
        summary=text("What was done and found, and what is open.", SUMMARY_CHARS),
        session_id=_SESSION,
    ),
)
MEM_REVIEW: Final = Offer(
    name="mem_review",
    about="Memories that may contradict each other and wait for a person. Without arguments it "
    "lists them; with a note it tells that person what you know. Only a person decides.",
    schema=takes(
        {"id": 7, "note": "Measured today: 75 s after a cold start, 60 s otherwise."},
        0,
        id=number("The number of the review that the note is for.", 1, LARGEST),
        note=text("What you know that helps to decide it.", NOTE_CHARS),
    ),
)
MEM_STATS: Final = Offer(
    name="mem_stats",
    about="How much is kept for this project: memories by kind, sessions, open reviews.",
    schema=takes({}, 0),
)
HANDOFF: Final = Offer(
    name="handoff",
    about="Ask for a service to be looked into: a session investigates it, and may hand it on to "
    "be mended.",
    schema=takes(
        {"service": "jellyfin", "reason": "Answers 502 since the deployment at 10:40."},
        2,
        service=text("The service's name, as in services.yaml.", NAME_CHARS),
        reason=text("What fails, and since when; what you saw yourself.", REASON_CHARS),
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
"""The tools that change something whenever they are used."""

ELSEWHERE: Final = frozenset(
    each.name
    for each in (
        *(MEM_CONTEXT, MEM_SEARCH, READ_MEMORY, MEM_SAVE),
        *(MEM_SESSION_START, MEM_SESSION_SUMMARY, MEM_SESSION_END),
    )
)
"""What there is of an agent that keeps its knowledge in a service of its own."""

_OWN_SESSION: Final = frozenset(
    each.name for each in (MEM_SESSION_START, MEM_SESSION_SUMMARY, MEM_SESSION_END)
)


def client_offers(speaker: Speaker) -> tuple[Offer, ...]:
    """Return the tools that somebody has, each with what they may give."""
    return tuple(_for(speaker, each) for each in _offered(speaker))


def _offered(speaker: Speaker) -> Iterator[Offer]:
    agent, missing = speaker.agent, set[str]()
    if not speaker.writes:
        missing |= WRITES
    if not speaker.hands_on:
        missing.add(HANDOFF.name)
    if speaker.session is not None:
        missing |= _OWN_SESSION  # its session is ours to begin and to end
    if agent is not None:
        missing |= {MEM_SAVE.name} if not agent.auto_save else set()
        missing |= {MEM_SEARCH.name} if not agent.auto_search else set()
        missing |= {MEM_SESSION_SUMMARY.name} if not agent.auto_summarize else set()
    for each in CLIENT_OFFERS:
        if each.name not in missing and (not speaker.elsewhere or each.name in ELSEWHERE):
            yield each


def _for(speaker: Speaker, offer: Offer) -> Offer:
    """Return an offer with what this speaker may say: who is bound to a project names none."""
    given = dict(offer.schema["properties"])
    required = list(offer.schema["required"])
    if speaker.session is not None and offer is MEM_SAVE:
        del given["session_id"]
        given["type"] = _type("What it is about.", tuple(Category))
        required.remove("title")
    if not speaker.writes and offer is MEM_REVIEW:
        given, about = {}, "Memories that may contradict each other and wait for a person."
        offer = replace(offer, about=about, schema={**offer.schema, "examples": [{}]})
    if speaker.chooses:
        given["project"] = _PROJECT
    return replace(offer, schema={**offer.schema, "properties": given, "required": required})
