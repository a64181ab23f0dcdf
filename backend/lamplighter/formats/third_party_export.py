"""Exports of AgentOps' memory service and of engram, mapped to and from memories.

Both are one JSON object with `sessions` and `observations`; engram has `prompts` and a `sync_id`
for each row as well.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.knowledge import memory_title
from lamplighter.domain.memory.memory import (
    GLOBAL,
    OPERATIONAL,
    PROJECT,
    Candidate,
    Category,
    Memory,
    Source,
    Trust,
)
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import content_hash, normalize_project
from lamplighter.formats import serialize
from lamplighter.formats.import_records import (
    MANUAL,
    ImportRecord,
    MemoryRecord,
    PromptRecord,
    SessionRecord,
)
from lamplighter.formats.json_fields import JsonFields

ENGRAM: Final = "engram:"
PERSONAL: Final = "personal"
"""The scope that is found from every project, in engram's terms."""

VERSION: Final = "0.1.0"
TYPES: Final = {
    **{category.value: category for category in Category if category not in OPERATIONAL},
    **dict.fromkeys(("design", "adr", "refactor"), Category.ARCHITECTURE),
    **dict.fromkeys(("bug", "fix", "hotfix", "incident"), Category.BUGFIX),
    **dict.fromkeys(("convention", "guideline"), Category.PATTERN),
    **dict.fromkeys(("setup", "infra", "infrastructure", "ci"), Category.CONFIG),
    **dict.fromkeys(("learn", "passive"), Category.LEARNING),
}
"""The categories of their types; any other type is a discovery, with its name as a tag."""


LISTS: Final = frozenset(("sessions", "observations", "prompts"))
"""The lists of such an export; a document without any of them is another format."""


def parse_row(name: str, value: Any, project: str) -> ImportRecord | None:
    """Parse a row of a list of such an export; None for a row that is not imported.

    Raises Invalid naming each wrong field.
    """
    match name:
        case "sessions":
            return _session(JsonFields.of(value), project)
        case "observations":
            return _observation(JsonFields.of(value), project)
        case "prompts":
            return _prompt(JsonFields.of(value))
    return None


def map_category(word: str) -> tuple[Category, tuple[str, ...]]:
    """Return the category of an external type, and the tags that preserve the type."""
    word = word.strip().lower()
    known = TYPES.get(word)
    return (known, ()) if known else (Category.DISCOVERY, (word,) if word else ())


def _observation(row: JsonFields, project: str) -> MemoryRecord:
    category, tags = map_category(row.text("type"))
    created, number = row.moment("created_at"), row.count("id", 0)
    sync = row.text("sync_id")
    ref = row.text("ref") or (f"{ENGRAM}{sync}" if sync else "")
    candidate = Candidate(
        category=category,
        service=None,
        observation=row.text("content", needed=True),
        tier=0,
        session_id=None,
        source=Source.IMPORTED,
        source_ref=f"engram {sync}" if sync else f"observation {number}",
        trust=Trust.UNVERIFIED,
        title=row.text("title"),
        tags=(*row.texts("tags"), *tags),
        project=row.text("project").strip() or project,
        scope=GLOBAL if row.text("scope") in (GLOBAL, PERSONAL) else PROJECT,
        topic_key=row.text("topic_key") or None,
    )
    record = MemoryRecord(
        ref=ref
        or f"observation:{number or _hash(candidate)}@{serialize.format_moment(created) or ''}",
        candidate=candidate,
        number=number,
        session=_session_of(row.text("session_id")),
        created_at=created,
        updated_at=row.moment("updated_at") or created,
        last_seen_at=row.moment("last_seen_at"),
        revision_count=row.count("revision_count"),
        duplicate_count=row.count("duplicate_count"),
        deleted=row.values.get("deleted_at") is not None,
    )
    row.check()
    return record


def _hash(candidate: Candidate) -> str:
    """Return an identifier for a row without a number: its text and project."""
    return content_hash(f"{normalize_project(candidate.project)}\n{candidate.observation}")


def _session(row: JsonFields, project: str) -> SessionRecord | None:
    name = row.text("id", needed=True)
    record = SessionRecord(
        external_id=name,
        project=row.text("project").strip() or project,
        directory=row.text("directory") or None,
        started_at=row.moment("started_at"),
        ended_at=row.moment("ended_at"),
        summary=row.text("summary"),
        messages=row.count("message_count", 0) or None,
    )
    row.check()
    return None if name == MANUAL else record


def _prompt(row: JsonFields) -> PromptRecord | None:
    found = PromptRecord(row.text("session_id"), row.text("content"), row.moment("created_at"))
    row.check()
    return found if _session_of(found.session) and found.content.strip() else None


def _session_of(name: str) -> str | None:
    return None if name in ("", MANUAL) else name


def session_row(each: Session) -> dict[str, Any]:
    """Return a client's session as AgentOps and engram write one."""
    row = {
        "id": each.external_id,
        "project": each.project,
        "directory": each.directory or "",
        "started_at": serialize.format_moment(each.started_at),
        "ended_at": serialize.format_moment(each.ended_at),
        "summary": each.summary or None,
        "message_count": each.messages or 0,
    }
    return {name: value for name, value in row.items() if value is not None}


def placeholder_session(project: str, *, now: datetime) -> dict[str, Any]:
    """Return the session for memories without a client's session: the format requires one."""
    return {
        "id": MANUAL,
        "project": project,
        "directory": "",
        "started_at": serialize.format_moment(now),
    }


def observation_row(each: Memory, session: str | None, ref: str) -> dict[str, Any]:
    """Return a memory as an AgentOps observation; `ref` is the reference of Lamplighter."""
    row: Mapping[str, Any] = {
        "id": each.id,
        "session_id": session or MANUAL,
        "type": each.category,
        "title": memory_title(each),
        "content": each.observation,
        "tags": list(each.tags),
        "project": each.project,
        "scope": each.scope,
        "topic_key": each.topic_key,
        "normalized_hash": each.content_hash,
        "revision_count": each.revision_count,
        "duplicate_count": each.duplicate_count,
        "last_seen_at": serialize.format_moment(each.last_seen_at or each.updated_at),
        "created_at": serialize.format_moment(each.created_at),
        "updated_at": serialize.format_moment(each.updated_at),
        "ref": ref,
    }
    return {name: value for name, value in row.items() if value is not None}


def synced_row(each: Memory, session: str | None, ref: str) -> dict[str, Any]:
    """Return a memory of knowledge as engram writes an observation."""
    stamp = f"{each.created_at:%Y%m%d%H%M%S%f}"
    scope = PERSONAL if each.scope == GLOBAL else each.scope
    own = f"obs-{MANUAL}-{each.id}-{stamp}"
    sync = ref.removeprefix(ENGRAM) if ref.startswith(ENGRAM) else own
    return {**observation_row(each, session, ref), "scope": scope, "sync_id": sync}


def prompt_row(number: int, each: Session, content: str, at: datetime) -> dict[str, Any]:
    """Return a prompt of a client's session in engram's form; `number` is its position.

    The position replaces the row number, which reveals how many rows were deleted.
    """
    return {
        "id": number,
        "session_id": each.external_id,
        "content": content,
        "project": each.project,
        "created_at": serialize.format_moment(at),
    }
