"""What of a memory is read for its meaning, and how far that has come."""

from dataclasses import dataclass

from lamplighter.domain.text import several_lines


@dataclass(frozen=True, slots=True)
class Progress:
    """Of how many memories the meaning is kept."""

    kept: int
    total: int

    @property
    def whole(self) -> bool:
        """Whether it is of all."""
        return self.kept >= self.total

    @property
    def share(self) -> float:
        """Which share of all it is."""
        return self.kept / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A memory whose meaning is kept: the code of its vector, and what it can be filtered by.

    `id` counts the vectors as they were kept.
    """

    id: int
    memory_id: int
    code: bytes
    active: bool
    everywhere: bool
    project: str
    service: str | None
    category: str


def read(*, service: str | None, title: str, observation: str) -> str:
    """Return the text that stands for a memory: whose it is, its title and its words."""
    parts = (service or "", title, several_lines(observation))
    return ". ".join(part.rstrip(". ") for part in parts if part) or "."
