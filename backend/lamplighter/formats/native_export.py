"""The native export: JSON Lines, one for each client session and each memory, complete.

It does not contain history, reviews, exposures, and the sessions of engines. A backup of the
database contains those.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.fields import DeclaredField
from lamplighter.domain.memory.memory import (
    CANDIDATE_FIELDS,
    MEMORY_FIELDS,
    OPERATIONS,
    Candidate,
    Category,
    InactiveReason,
    Memory,
    MemoryId,
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


def header(*, now: datetime, project: str | None) -> str:
    """Return the first line of an export."""
    return _line({FORMAT: FORM, "exported_at": serialize.format_moment(now), "project": project})


def session_line(each: Session, prompts: Sequence[ClientPrompt] = ()) -> str:
    """Return the line of a client's session, with its prompts."""
    kept = ("external_id", "project", "agent", "directory", "summary", "prompt", "messages")
    fields = {name: getattr(each, name) for name in kept}
    times = {
        "started_at": serialize.format_moment(each.started_at),
        "ended_at": serialize.format_moment(each.ended_at),
    }
    asked = [
        {"content": each.content, "created_at": serialize.format_moment(each.created_at)}
        for each in prompts
    ]
    return _line({"session": {**fields, **times, "prompts": asked}})


def memory_line(each: Memory, session: str | None, ref: str) -> str:
    """Return the line of a memory; `session` is the client's name of its session."""
    more = {"session": session, "decayed_weeks": each.decayed_weeks, "ref": ref}
    return _line({"memory": {**serialize.memory(each), **more}})


def is_header(line: str) -> bool:
    """Whether a line is the header of a native export."""
    try:
        return FORMAT in json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return False


def parse_line(line: str) -> ImportRecord | None:
    """Parse a line; None for the header; raises Invalid."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Invalid(InvalidField("line", "is not JSON")) from error
    row = JsonFields.of(given).values
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


_NOT_READ: Final = ("id", "session_id", "content_hash")
_READ: Final = [each for name, each in MEMORY_FIELDS.items() if name not in _NOT_READ]
_ABSENT: Final[Mapping[str, Any]] = {
    "category": Category.TIMING,
    "source": Source.OPERATOR,
    "trust": Trust.UNVERIFIED,
    "inactive_reason": InactiveReason.OPERATOR,
    "active": True,
}
"""The value of a missing field whose declaration has no default or another one."""


def _memory(row: JsonFields) -> MemoryRecord:
    read = {each.name: _value(row, each) for each in _READ}
    number, session = row.count("id"), row.text("session") or None
    ref = row.text("ref")
    row.check()
    whole = Memory(**normalize_status(read), id=MemoryId(number), session_id=None)
    candidate = Candidate(**{name: getattr(whole, name) for name in CANDIDATE_FIELDS})
    return MemoryRecord(
        ref=ref or memory_ref(whole),
        number=number,
        candidate=candidate,
        session=session,
        created_at=whole.created_at,
        updated_at=whole.updated_at,
        whole=whole,
    )


def _value(row: JsonFields, field: DeclaredField) -> Any:
    """Return a field of a memory in its declared type; adds errors to the list."""
    name, absent = field.name, _ABSENT.get(field.name, field.default)
    if field.choices is not None:
        empty = field.nullable and row.values.get(name) is None
        return None if empty else row.word(name, field.choices, absent)
    if field.value_type is bool:
        return row.flag(name, otherwise=absent)
    if field.value_type is int:
        return row.count(name, 0 if field.required else absent)
    if field.value_type is float:
        return row.share(name)
    if field.value_type is datetime:
        return row.moment(name, needed=field.required)
    if field.value_type in (tuple, dict):
        return row.texts(name) if field.value_type is tuple else row.object(name)
    text = row.text(name, needed=field.required and not field.nullable)
    if field.declared.options and text and text not in field.declared.options:
        row.wrong.append(InvalidField(name, f"is not one of {', '.join(field.declared.options)}"))
    return text or (None if field.nullable else absent)


def _session(row: JsonFields) -> SessionRecord:
    name = row.text("external_id", needed=True)
    record = SessionRecord(
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
    return record


def _prompts(row: JsonFields, session: str) -> Iterator[PromptRecord]:
    given = row.values.get("prompts", [])
    if not isinstance(given, list):
        row.wrong.append(InvalidField("prompts", "is not a list"))
        return
    for each in given:
        prompt = JsonFields.of(each)
        yield PromptRecord(session, prompt.text("content"), prompt.moment("created_at"))
        row.wrong += prompt.wrong


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
