"""The wall between projects: whose memories a caller reads."""

from dataclasses import dataclass
from typing import Any

from lamplighter.domain.memory.memory import GLOBAL, Memory
from lamplighter.domain.text import normalize_project


@dataclass(frozen=True, slots=True)
class Reach:
    """The memories of a project, by its normalized name, and the global ones of all projects.

    The rule stands here in both its forms: for a row, and for a query. `columns` is whatever
    has the columns of a memory by name and compares as SQLAlchemy's columns do.
    """

    project: str

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is within reach."""
        return memory.scope == GLOBAL or normalize_project(memory.project) == self.project

    def condition(self, columns: Any) -> Any:
        """Return what is true of the rows within reach."""
        return (columns.project == self.project) | (columns.scope == GLOBAL)
