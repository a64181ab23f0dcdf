"""Our rows as this contract shows them: their names, and moments to the second."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lamplighter.api.agentops import words
from lamplighter.domain.memory import Memory
from lamplighter.domain.prompt import ClientPrompt
from lamplighter.domain.session import Session, Status
from lamplighter.domain.titles import title_of
from lamplighter.repository import Database, client_sessions, reading

ACTIVE: Final = "active"


def stamp(at: datetime) -> str:
    """Write a moment as RFC 3339 to the second: what clients cut at a full stop stays whole."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"


async def names(db: Database, ids: Iterable[int | None]) -> dict[int, str]:
    """Return what clients call the sessions of some rows."""
    return await client_sessions.names(db, sorted({each for each in ids if each is not None}))


def name_of(session_id: int | None, known: Mapping[int, str]) -> str:
    """Return what a session is called; one of ours by its number, a person's is none."""
    return "" if session_id is None else known.get(session_id, f"lamplighter-{session_id}")


def observation(memory: Memory, known: Mapping[int, str]) -> dict[str, Any]:
    """Return a memory as an observation."""
    return {
        "id": memory.id,
        "session_id": name_of(memory.session_id, known),
        "type": words.type_of(memory),
        "title": title_of(memory),
        "content": memory.observation,
        "tags": words.tags_of(memory),
        "project": memory.project,
        "scope": words.scope_said(memory),
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
    known = await names(db, (each.session_id for each in memories))
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
        kept = await client_sessions.kept(db, [each.id for each in found])
    return [session(each, kept.get(each.id, 0)) for each in found]


def prompt(each: ClientPrompt, known: Mapping[int, str]) -> dict[str, Any]:
    """Return a prompt."""
    return {
        "id": each.id,
        "session_id": name_of(each.session_id, known),
        "content": each.content,
        "project": each.project,
        "created_at": stamp(each.created_at),
    }
