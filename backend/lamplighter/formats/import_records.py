"""Records: rows of another system, or of another home, for an import."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.knowledge import revise, with_source_trust
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    CANDIDATE_FIELDS,
    EDITABLE_FIELDS,
    Candidate,
    InactiveReason,
    Memory,
    new_memory,
)
from lamplighter.domain.text import content_hash
from lamplighter.formats import serialize

TEXT_FIELDS: Final = ("category", "title", "observation", "tags", "scope", "topic_key")
STATUS_FIELDS: Final = ("confidence", "active", "inactive_reason", "pinned", "trust", "kind")
_ADMITTED: Final = ("source_ref", *(set(EDITABLE_FIELDS) & set(CANDIDATE_FIELDS) - {"confidence"}))
MANUAL: Final = "lamplighter"
"""The session that an export names for memories without a client's session."""


_NATIVE: Final = re.compile(rf"{MANUAL}:(\d{{1,18}})@(\d{{4}}-\S+Z)", re.ASCII)


def memory_ref(memory: Memory) -> str:
    """Return the global reference of a memory that was created here."""
    return f"{MANUAL}:{memory.id}@{serialize.format_moment(memory.created_at)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A memory to import; `ref` is its identifier at its origin.

    `number` is its number there, `session` the client's name of its session. `whole` is the
    complete memory, if the export has it; else the record is new knowledge.
    """

    ref: str
    candidate: Candidate
    number: int = 0
    session: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_seen_at: datetime | None = None
    revision_count: int = 1
    duplicate_count: int = 1
    deleted: bool = False
    whole: Memory | None = None

    @property
    def native(self) -> tuple[int, datetime] | None:
        """The number and the moment of the memory of a home that it is an export of."""
        found = _NATIVE.fullmatch(self.ref)
        if found is None:
            return None
        try:
            return int(found[1]), datetime.fromisoformat(found[2])
        except ValueError:
            return None

    @property
    def _source(self) -> Candidate | Memory:
        return self.candidate if self.whole is None else self.whole

    @property
    def _names(self) -> tuple[str, ...]:
        """Fields for comparing a memory: other systems have no services."""
        return (
            TEXT_FIELDS
            if self.whole is None
            else (*TEXT_FIELDS, "service", "project", *STATUS_FIELDS)
        )

    @property
    def fingerprint(self) -> str:
        """Return a fingerprint of a record: equal if it has not changed since its last import."""
        values = [getattr(self._source, name) for name in self._names]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()

    def admitted(self, candidate: Candidate) -> "MemoryRecord":
        """Return the record with masked secrets."""
        if self.whole is None:
            return replace(self, candidate=with_source_trust(candidate))
        words = {name: getattr(candidate, name) for name in _ADMITTED}
        hashed = content_hash(candidate.observation)
        whole = replace(self.whole, **words, content_hash=hashed)
        return replace(self, candidate=candidate, whole=whole)

    def memory(self, session_id: int | None, *, now: datetime) -> Memory:
        """Return the new memory of the record."""
        if self.whole is not None:
            return replace(self.whole, session_id=session_id)
        began = self.created_at or now
        return replace(
            new_memory(self.candidate, now=began),
            session_id=session_id,
            updated_at=self.updated_at or began,
            revision_count=self.revision_count,
            duplicate_count=self.duplicate_count,
            last_seen_at=self.last_seen_at,
        )

    def revised(self, memory: Memory, *, now: datetime) -> Memory:
        """Return a memory with the values of the record; the same memory if they are equal."""
        if not self.differs(memory):
            return memory
        if self.whole is None:
            said = self.candidate
            newer = revise(memory, said, now=now)
            return replace(newer, scope=said.scope, topic_key=said.topic_key)
        fields = {name: getattr(self.whole, name) for name in self._names}
        return replace(
            memory,
            **fields,
            content_hash=self.whole.content_hash,
            updated_at=self.whole.updated_at,
            decayed_weeks=self.whole.decayed_weeks,
            version=memory.version + 1,
        )

    def differs(self, memory: Memory) -> bool:
        """Whether the record's values differ from those of a memory."""
        return any(getattr(self._source, name) != getattr(memory, name) for name in self._names)

    def behind(self, memory: Memory) -> bool:
        """Whether a memory has moved on since the record was written."""
        if self.whole is not None and self.native == (memory.id, memory.created_at):
            return memory.version > self.whole.version
        return self.updated_at is None or memory.updated_at > self.updated_at


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A client's session to import; `owned` means that its owner is included."""

    external_id: str
    owned: bool = False
    project: str
    agent: str | None = None
    directory: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    summary: str = ""
    prompt: str = ""
    messages: int | None = None
    prompts: tuple["PromptRecord", ...] = ()


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A person's prompt in a client's session."""

    session: str
    content: str
    created_at: datetime | None = None


ImportRecord = MemoryRecord | SessionRecord | PromptRecord


def normalize_status(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the exported fields of a memory; its activity follows the threshold of 0.30."""
    confidence = round(fields["confidence"], 2)
    low = confidence < ACTIVE_THRESHOLD
    active = fields["active"] and not low
    usual = InactiveReason.LOW if low else InactiveReason.OPERATOR
    reason = None if active else fields["inactive_reason"] or usual
    return {**fields, "confidence": confidence, "active": active, "inactive_reason": reason}
