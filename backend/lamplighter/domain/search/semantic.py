"""The text of a memory that is embedded, and the progress of the index."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lamplighter.domain.text import clean_lines

if TYPE_CHECKING:
    from lamplighter.domain.services.vitals import VitalSign

SIGN: Final = "vectors"

SHORT_CHARS: Final = 72
LONG_CHARS: Final = 576
LENGTH_POWER: Final = 0.15
"""A short text is more similar to any question than a long one; this exponent compensates."""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """The number of memories that have an embedding."""

    indexed: int
    total: int

    @property
    def whole(self) -> bool:
        """Whether every memory has an embedding."""
        return self.indexed >= self.total

    @property
    def share(self) -> float:
        """The share of memories that have an embedding."""
        return self.indexed / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True)
class IndexedVector:
    """An indexed memory: the code of its vector, and the fields for filters.

    `id` counts the vectors in the order of storage.
    """

    id: int
    memory_id: int
    code: bytes
    active: bool
    everywhere: bool
    project: str
    service: str | None
    category: str


def embedding_text(*, service: str | None, title: str, observation: str) -> str:
    """Return the text that represents a memory: its service, title and observation."""
    parts = (service or "", title, clean_lines(observation))
    return ". ".join(part.rstrip(". ") for part in parts if part) or "."


def length_weight(text: str) -> float:
    """Return the weight of a text's similarity: 1 for a short text, more for longer ones."""
    return float((min(max(len(text), SHORT_CHARS), LONG_CHARS) / SHORT_CHARS) ** LENGTH_POWER)


def judge_index(
    progress: IndexProgress | None, *, why_not: str = "", problem: str = ""
) -> "VitalSign":
    """Judge whether semantic search works; without it a search uses keywords alone."""
    from lamplighter.domain.services.vitals import VitalSign, VitalStatus  # not used by a search

    if why_not:
        return VitalSign(SIGN, VitalStatus.OK, f"Keyword search only: {why_not}")
    if problem:
        advice = "Keyword search still works. Fix the problem and restart, or set vectors to off."
        text = f"Semantic search is not available: {problem}"
        return VitalSign(SIGN, VitalStatus.WARNING, text, advice)
    if progress is None:
        return VitalSign(SIGN, VitalStatus.UNKNOWN, "The number of embeddings is unknown")
    total = f"{progress.total:,} {'memory' if progress.total == 1 else 'memories'}"
    if progress.whole:
        text = f"Embeddings are complete for {total}"
        return VitalSign(SIGN, VitalStatus.OK, text, figure=1.0)
    text = (
        f"Embeddings exist for {progress.indexed:,} of {total} ({progress.share:.0%}); the web "
        f"process computes the rest"
    )
    return VitalSign(SIGN, VitalStatus.OK, text, figure=progress.share)
