"""The boundary between projects: the memories that a caller can read."""

from dataclasses import dataclass
from typing import Any

from lamplighter.domain.memory.memory import GLOBAL, Memory
from lamplighter.domain.text import normalize_project


@dataclass(frozen=True, slots=True)
class Reach:
    """The memories of a project, by its normalized name, and the global ones of all projects.

    The rule exists in two forms: for a row, and for a query. `columns` is any object with the
    columns of a memory by name that compares like SQLAlchemy's columns.
    """

    project: str

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is in this reach."""
        return memory.scope == GLOBAL or normalize_project(memory.project) == self.project

    def condition(self, columns: Any) -> Any:
        """Return the SQL condition for the rows in this reach."""
        return (columns.project == self.project) | (columns.scope == GLOBAL)
