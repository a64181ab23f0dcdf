"""Our own export: JSON Lines, one for each session of a client and each memory, nothing left out.

What is not in it: history, reviews, exposures, and the sessions of engines. A backup of the
database holds those.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.memory.memory import (
    OPERATIONS,
    PROJECT,
    Candidate,
    Category,
    InactiveReason,
    Memory,
    MemoryId,
    MemoryKind,
    Source,
    Trust,
)
from lamplighter.domain.sessions.session import Session
from lamplighter.formats import serialize
from lamplighter.formats.import_records import (
    ImportRecord,
    MemoryRecord,
    PromptRecord,
    SessionRecord,
    memory_ref,
    normalize_status,
)
from lamplighter.formats.json_fields import JsonFields

FORMAT: Final = "lamplighter"
FORM: Final = 1
SCOPES: Final = (PROJECT, "global")


def header(*, now: datetime, project: str | None) -> str:
    """Return the first line of an export."""
    return _line({FORMAT: FORM, "exported_at": serialize.format_moment(now), "project": project})


def session_line(each: Session, prompts: Sequence[ClientPrompt] = ()) -> str:
    """Return the line of a client's session, with what was asked in it."""
    kept = ("external_id", "project", "agent", "directory", "summary", "prompt", "messages")
    told = {name: getattr(each, name) for name in kept}
    times = {
        "started_at": serialize.format_moment(each.started_at),
        "ended_at": serialize.format_moment(each.ended_at),
    }
    asked = [
        {"content": each.content, "created_at": serialize.format_moment(each.created_at)}
        for each in prompts
    ]
    return _line({"session": {**told, **times, "prompts": asked}})


def memory_line(each: Memory, session: str | None, ref: str) -> str:
    """Return the line of a memory; `session` is what its client calls its session."""
    more = {"session": session, "decayed_weeks": each.decayed_weeks, "ref": ref}
    return _line({"memory": {**serialize.memory(each), **more}})


def is_header(line: str) -> bool:
    """Whether a line is the first one of such an export."""
    try:
        return FORMAT in json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return False


def parse_line(line: str) -> ImportRecord | None:
    """Return what a line brings, None for the first one; raises Invalid."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Invalid(InvalidField("line", "is not JSON")) from error
    row = JsonFields.of(given).given
    if "memory" in row:
        return _memory(JsonFields.of(row["memory"]))
    if "session" in row:
        return _session(JsonFields.of(row["session"]))
    if row.get(FORMAT) == FORM:
        return None
    if FORMAT in row:
        raise Invalid(
            InvalidField("line", f"has format {row[FORMAT]!r}; this version reads {FORM}")
        )
    raise Invalid(InvalidField("line", "contains neither a memory nor a session"))


def _memory(row: JsonFields) -> MemoryRecord:
    words, rest = _text_fields(row), _status_fields(row)
    created = row.moment("created_at", needed=True)
    updated = row.moment("updated_at", needed=True)
    number, session = row.count("id"), row.text("session") or None
    ref = row.text("ref")
    row.check()
    assert created is not None
    assert updated is not None
    whole = Memory(
        id=MemoryId(number),
        created_at=created,
        updated_at=updated,
        **words,
        **normalize_status(rest),
    )
    return MemoryRecord(
        ref=ref or memory_ref(whole),
        number=number,
        candidate=Candidate(**words, confidence=whole.confidence),
        session=session,
        created_at=created,
        updated_at=updated,
        whole=whole,
    )


def _text_fields(row: JsonFields) -> dict[str, Any]:
    scope = row.text("scope") or PROJECT
    if scope not in SCOPES:
        row.wrong.append(InvalidField("scope", f"is not one of {', '.join(SCOPES)}"))
    return {
        "category": row.word("category", Category, Category.TIMING),
        "service": row.text("service") or None,
        "observation": row.text("observation", needed=True),
        "title": row.text("title"),
        "tags": row.texts("tags"),
        "project": row.text("project") or OPERATIONS,
        "scope": scope,
        "topic_key": row.text("topic_key") or None,
        "source": row.word("source", Source, Source.OPERATOR),
        "source_ref": row.text("source_ref") or None,
        "trust": row.word("trust", Trust, Trust.UNVERIFIED),
        "tier": row.count("tier", 0),
        "session_id": None,
    }


def _status_fields(row: JsonFields) -> dict[str, Any]:
    reason: InactiveReason | None = None
    if row.given.get("inactive_reason") is not None:
        reason = row.word("inactive_reason", InactiveReason, InactiveReason.OPERATOR)
    return {
        "confidence": row.share("confidence"),
        "active": row.flag("active", otherwise=True),
        "inactive_reason": reason,
        "kind": row.word("kind", MemoryKind, MemoryKind.SEMANTIC),
        "pinned": row.flag("pinned"),
        "distilled": row.flag("distilled", otherwise=True),
        "last_seen_at": row.moment("last_seen_at"),
        "accessed_at": row.moment("accessed_at"),
        **{name: row.count(name) for name in ("revision_count", "duplicate_count", "version")},
        **{name: row.count(name, 0) for name in ("access_count", "decayed_weeks")},
    }


def _session(row: JsonFields) -> SessionRecord:
    name = row.text("external_id", needed=True)
    found = SessionRecord(
        external_id=name,
        owned=True,
        project=row.text("project") or OPERATIONS,
        agent=row.text("agent") or None,
        directory=row.text("directory") or None,
        started_at=row.moment("started_at"),
        ended_at=row.moment("ended_at"),
        summary=row.text("summary"),
        prompt=row.text("prompt"),
        messages=row.count("messages", 0) or None,
        prompts=tuple(_prompts(row, name)),
    )
    row.check()
    return found


def _prompts(row: JsonFields, session: str) -> Iterator[PromptRecord]:
    given = row.given.get("prompts", [])
    if not isinstance(given, list):
        row.wrong.append(InvalidField("prompts", "is not a list"))
        return
    for each in given:
        fields = JsonFields.of(each)
        yield PromptRecord(session, fields.text("content"), fields.moment("created_at"))
        row.wrong += fields.wrong


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
