"""Repeated knowledge: revised by its topic key, counted as a duplicate by its text, or new."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory.corrections import learning_title
from lamplighter.domain.memory.memory import (
    GLOBAL,
    INITIAL_CONFIDENCE,
    OPERATIONAL,
    RAW_SOURCES,
    Candidate,
    Edit,
    InactiveReason,
    Memory,
    MemoryKind,
    Source,
    Trust,
    apply_edit,
    kind_of,
)
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import REDACTED, content_hash, one_line, shorten, without_private

RAW_CONFIDENCE: Final = 0.6
"""Confidence of unreviewed memories: captured by rules, or imported."""

_TRUST_ORDER: Final = (Trust.UNVERIFIED, Trust.OBSERVED, Trust.TRUSTED)


class SaveOutcome(StrEnum):
    """The outcome of saving a piece of knowledge, in AgentOps' terms."""

    CREATED = "created"
    UPDATED = "updated"
    DEDUPLICATED = "deduplicated"


@dataclass(frozen=True, slots=True)
class SavedKnowledge:
    """The outcome of saving a piece of knowledge, and the memory that now contains it."""

    outcome: SaveOutcome
    memory: Memory


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """The outcomes of saving the learnings of a text, in their order."""

    results: tuple[SavedKnowledge, ...] = ()

    @property
    def extracted(self) -> int:
        """The number of learnings that the text lists."""
        return len(self.results)

    @property
    def saved(self) -> int:
        """The number of new learnings."""
        return sum(each.outcome is SaveOutcome.CREATED for each in self.results)

    @property
    def duplicates(self) -> int:
        """The number of learnings that were stored already."""
        return self.extracted - self.saved


@dataclass(frozen=True, slots=True)
class MemoryTimeline:
    """A memory between the memories stored before and after it, oldest first."""

    before: tuple[Memory, ...]
    focus: Memory
    after: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeStats:
    """Totals for agents: active memories of knowledge, and sessions of clients."""

    sessions: int
    observations: int
    by_category: Mapping[str, int]
    by_project: Mapping[str, int]
    projects: tuple[str, ...]


def with_source_trust(candidate: Candidate) -> Candidate:
    """Return a candidate with confidence and trust limited by its source."""
    if candidate.source in RAW_SOURCES:
        return replace(candidate, confidence=RAW_CONFIDENCE, trust=Trust.UNVERIFIED)
    if candidate.source is Source.CLIENT:
        return replace(candidate, confidence=INITIAL_CONFIDENCE, trust=Trust.OBSERVED)
    return candidate


def revise(memory: Memory, candidate: Candidate, *, now: datetime) -> Memory:
    """Return a memory with the newer text of its topic key (agentops-memory, tier 1).

    Unreviewed text leaves the kind and `distilled` unchanged, except that changed text of an
    episode is searched for facts again.
    """
    raw, new_hash = candidate.source in RAW_SOURCES, content_hash(candidate.observation)
    episode = memory.kind is MemoryKind.EPISODIC and memory.trust is Trust.UNVERIFIED
    searched = memory.distilled and episode and new_hash != memory.content_hash
    return replace(
        memory,
        observation=candidate.observation,
        content_hash=new_hash,
        title=candidate.title or memory.title,
        tags=candidate.tags or memory.tags,
        metadata=candidate.metadata or memory.metadata,
        expires_at=candidate.expires_at or memory.expires_at,
        category=candidate.category,
        kind=memory.kind
        if raw and memory.kind is MemoryKind.EPISODIC
        else kind_of(candidate.category),
        trust=lesser_trust(memory.trust, candidate.trust),
        distilled=not raw or (memory.distilled and not searched),
        revision_count=memory.revision_count + 1,
        last_seen_at=now,
        updated_at=now,
        decayed_weeks=0,
        version=memory.version + 1,
    )


def widen_scope(memory: Memory, candidate: Candidate) -> Memory:
    """Return a memory with its scope widened to that of a repeated observation.

    A global memory stays global, because other projects find the memory by this scope.
    """
    if candidate.scope != GLOBAL or memory.scope == GLOBAL:
        return memory
    return replace(memory, scope=GLOBAL, version=memory.version + 1)


def set_topic_key(memory: Memory, candidate: Candidate) -> Memory:
    """Return a memory with the topic key of a repeated observation; an existing key stays."""
    if candidate.topic_key is None or memory.topic_key is not None:
        return memory
    return replace(
        memory,
        topic_key=candidate.topic_key,
        distilled=memory.distilled or candidate.distilled,
        version=memory.version + 1,
    )


def apply_correction(memory: Memory, change: Edit, *, now: datetime) -> Memory:
    """Return a memory as corrected by its client; changed text has at most the trust `observed`."""
    changed = apply_edit(memory, change, now=now)
    if changed.observation == memory.observation:
        return changed
    return replace(
        changed,
        content_hash=content_hash(changed.observation),
        trust=lesser_trust(memory.trust, Trust.OBSERVED),
    )


def confirm(memory: Memory, *, now: datetime) -> Memory:
    """Return a memory that a person confirmed: trusted, as if the person had written the text.

    An operational memory keeps its confidence, which changes by SPEC-0015 alone. A trusted memory
    stays as it is.
    """
    if memory.trust is Trust.TRUSTED:
        return memory
    confirmed = replace(
        memory,
        trust=Trust.TRUSTED,
        updated_at=now,
        decayed_weeks=0,
        version=memory.version + 1,
    )
    if memory.category in OPERATIONAL:
        return confirmed
    typed = memory.kind is MemoryKind.EPISODIC or memory.source is Source.OWNER
    return replace(
        confirmed,
        confidence=max(memory.confidence, INITIAL_CONFIDENCE),
        distilled=True,
        kind=kind_of(memory.category) if typed else memory.kind,
    )


def withdraw(memory: Memory) -> Memory:
    """Return a withdrawn memory: never included in prompts, but visible to an operator."""
    return replace(
        memory,
        active=False,
        inactive_reason=InactiveReason.DELETED,
        version=memory.version + 1,
    )


def supersede(memory: Memory) -> Memory:
    """Return a memory as superseded by another one; the caller sets the version."""
    return replace(memory, active=False, inactive_reason=InactiveReason.SUPERSEDED)


def lesser_trust(existing: Trust, new: Trust) -> Trust:
    """Return the lesser of two trusts: newer text is trusted at most as much as its author."""
    return min(existing, new, key=_TRUST_ORDER.index)


TITLE_WORDS: Final = 8
"""Number of words taken from the text if the title is empty."""

SEGMENT_CHARS: Final = 100
FAMILY_CHARS: Final = 19
GENERAL: Final = "general"
TOPIC: Final = "topic"
MANUAL: Final = "manual"

_FAMILIES: Final = tuple(
    (family, types.split(), signs)
    for family, row in read_table(__package__, "topic_keys.txt")
    for types, _, signs in [row.partition(" -> ")]
)
_OF_TYPE: Final = {name: family for family, types, _ in _FAMILIES for name in types}
_SIGNS: Final = {
    family: re.compile(rf"\b(?:{stems})(?:s|es|d|ed|ing|ies)?\b")
    for family, _, stems in _FAMILIES
    if stems
}
_BETWEEN: Final = re.compile(r"[\W_]+")


def suggest_topic_key(kind: str, title: str, content: str) -> str:
    """Suggest a topic key: the same for the same subject.

    The family comes from the type, else from keywords of the text; the rest is the title, or the
    first eight words of the content if the title is empty.
    """
    title, content = _normalize(title), _normalize(content)
    family = _find_family(kind, f"{title} {content}")
    said = _key_segment(title) or _key_segment(" ".join(content.split()[:TITLE_WORDS]))
    said = said.removeprefix(f"{family}-")
    return f"{family}/{GENERAL if said in ('', family) else said}"


def _normalize(text: str) -> str:
    shown = without_private(text).replace(REDACTED, " ")
    return unicodedata.normalize("NFKC", shown).lower()


def _find_family(kind: str, text: str) -> str:
    kind = kind.strip().lower()
    if kind in _OF_TYPE:
        return _OF_TYPE[kind]
    for family, signs in _SIGNS.items():
        if signs.search(text):
            return family
    own = "" if kind == MANUAL else _key_segment(kind)[:FAMILY_CHARS].strip("-")
    return own or TOPIC


def _key_segment(text: str) -> str:
    """Return the words of a text joined by -, shortened between two words."""
    whole = _BETWEEN.sub("-", text).strip("-")
    if len(whole) <= SEGMENT_CHARS:
        return whole
    cut, _, _ = whole[: SEGMENT_CHARS + 1].rpartition("-")
    return cut or whole[:SEGMENT_CHARS]


TITLE_CHARS: Final = 80


def memory_title(memory: Memory) -> str:
    """Return the title of a memory, else its first line."""
    lines = (one_line(line).lstrip("#*- ") for line in memory.observation.splitlines())
    return memory.title or shorten(next(filter(None, lines), ""), TITLE_CHARS)


def custom_title(memory: Memory) -> str:
    """Return the title that a client set; empty if the title is derived from the text."""
    return "" if memory.title == learning_title(memory.observation) else memory.title
