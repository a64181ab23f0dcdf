"""Our rows as this contract shows them: their names, and moments to the second."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.domain.memory.knowledge import memory_title
from lamplighter.domain.memory.memory import (
    GLOBAL,
    MAX_TAGS,
    OPERATIONAL,
    PROJECT,
    Category,
    Memory,
)
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.domain.text import one_line
from lamplighter.formats.third_party_export import TYPES
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import client_sessions

TYPE: Final = "type:"
SCOPE: Final = "scope:"
MANUAL: Final = "manual"
CATEGORIES: Final = {each.value: each for each in Category if each not in OPERATIONAL}
CATEGORY_ALIASES: Final = {
    **TYPES,
    "procedure": Category.PATTERN,
    "prompt": Category.DISCOVERY,
    "session_summary": Category.DISCOVERY,
}
"""The nearest category of each type; other types (manual, lesson, ...) are learnings."""


def normalize_word(word: str) -> str:
    """Return a type or a scope in the form that is compared."""
    return one_line(word).lower()


def category_of(word: str) -> Category:
    """Return the category of a type, whatever it is."""
    return CATEGORY_ALIASES.get(normalize_word(word), Category.LEARNING)


def scope_of(word: str) -> str:
    """Return the scope of a memory; every scope of a client except `global` is the project's."""
    return GLOBAL if normalize_word(word) == GLOBAL else PROJECT


def add_type_tags(tags: Sequence[str], *, kind: str, scope: str) -> tuple[str, ...]:
    """Return tags that preserve a type and a scope without an equivalent."""
    kind, scope = normalize_word(kind), normalize_word(scope)
    said = [f"{TYPE}{kind}"] if kind not in CATEGORIES else []
    said += [f"{SCOPE}{scope}"] if scope not in ("", PROJECT, GLOBAL) else []
    return (*_user_tags(tags)[: MAX_TAGS - len(said)], *said)


def type_of(memory: Memory) -> str:
    """Return the type of a memory in the client's spelling."""
    return _tag_value(memory, TYPE) or memory.category.value


def scope_of_memory(memory: Memory) -> str:
    """Return the scope of a memory in the client's spelling."""
    return _tag_value(memory, SCOPE) or memory.scope


def tags_of(memory: Memory) -> list[str]:
    """Return the tags of a memory that a client gave it."""
    return _user_tags(memory.tags)


def matches_type(memory: Memory, *, kind: str, scope: str) -> bool:
    """Whether a memory has a type and a scope; an empty filter matches all."""
    wanted = (
        (normalize_word(kind), type_of(memory)),
        (normalize_word(scope), scope_of_memory(memory)),
    )
    return all(said in ("", held) for said, held in wanted)


def _user_tags(tags: Sequence[str]) -> list[str]:
    return [each for each in tags if not each.startswith((TYPE, SCOPE))]


def _tag_value(memory: Memory, prefix: str) -> str:
    found = (each.removeprefix(prefix) for each in memory.tags if each.startswith(prefix))
    return next(found, "")


ACTIVE: Final = "active"


def stamp(at: datetime) -> str:
    """Format a moment as RFC 3339 in whole seconds: clients truncate it at the first dot."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"


async def session_names(db: Database, ids: Iterable[int | None]) -> dict[int, str]:
    """Return the clients' names for the sessions of some rows."""
    return await client_sessions.external_ids(
        db, sorted({each for each in ids if each is not None})
    )


def name_of(session_id: int | None, names: Mapping[int, str]) -> str:
    """Return the name of a session; the number for a session of Lamplighter, none for a person."""
    return "" if session_id is None else names.get(session_id, f"lamplighter-{session_id}")


def observation(memory: Memory, names: Mapping[int, str]) -> dict[str, Any]:
    """Return a memory as an observation."""
    return {
        "id": memory.id,
        "session_id": name_of(memory.session_id, names),
        "type": type_of(memory),
        "title": memory_title(memory),
        "content": memory.observation,
        "tags": tags_of(memory),
        "project": memory.project,
        "scope": scope_of_memory(memory),
        "topic_key": memory.topic_key,
        "normalized_hash": memory.content_hash,
        "revision_count": memory.revision_count,
        "duplicate_count": memory.duplicate_count,
        "last_seen_at": stamp(memory.last_seen_at or memory.created_at),
        "created_at": stamp(memory.created_at),
        "updated_at": stamp(memory.updated_at),
    }


async def observations(db: Database, memories: Sequence[Memory]) -> list[dict[str, Any]]:
    """Return memories as observations."""
    known = await session_names(db, (each.session_id for each in memories))
    return [observation(each, known) for each in memories]


def session(each: Session, observations: int) -> dict[str, Any]:
    """Return a session of a client."""
    return {
        "id": each.external_id,
        "project": each.project,
        "directory": each.directory or "",
        "started_at": stamp(each.started_at),
        "ended_at": None if each.ended_at is None else stamp(each.ended_at),
        "summary": each.summary or None,
        "message_count": each.messages or 0,
        "observation_count": observations,
        "status": ACTIVE if each.status is Status.RUNNING else each.status,
    }


async def sessions(db: Database, found: Sequence[Session]) -> list[dict[str, Any]]:
    """Return sessions of clients with how much each left."""
    async with reading(db):
        kept = await client_sessions.count_knowledge(db, [each.id for each in found])
    return [session(each, kept.get(each.id, 0)) for each in found]


def prompt(each: ClientPrompt, names: Mapping[int, str]) -> dict[str, Any]:
    """Return a prompt."""
    return {
        "id": each.id,
        "session_id": name_of(each.session_id, names),
        "content": each.content,
        "project": each.project,
        "created_at": stamp(each.created_at),
    }
