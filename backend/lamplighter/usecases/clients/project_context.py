"""The project context of an interactive session at its start (DESIGN section 5)."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.clients.interactive_text import (
    BUDGET,
    VERIFY,
    ContextSection,
    escape_line,
    fit_sections,
)
from lamplighter.domain.memory.memory import MemoryKind
from lamplighter.domain.project import normalize_project
from lamplighter.domain.sessions.context import MemoryBlock
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import projects
from lamplighter.usecases.graph.view import count_graph

PROCEDURAL: Final = 20
PROJECT: Final = 15
DECISIONS: Final = 10
RECENT: Final = timedelta(days=7)


async def project_context(
    db: Database, project: str, *, now: datetime, budget: int = BUDGET
) -> MemoryBlock:
    """Return what is known of a project, within a budget; empty where nothing is.

    Only what was thought over, is active and somebody stands behind. The counts tell
    how much more a search may find.
    """
    project = normalize_project(project)
    async with reading(db):
        counts = await projects.count_by_kind(db, project)
        if not counts:
            return MemoryBlock()
        sections = (
            ContextSection(
                "Procedures",
                await projects.procedural(db, project, limit=PROCEDURAL, now=now),
            ),
            ContextSection(
                "Project facts",
                await projects.of_project(db, project, limit=PROJECT, now=now),
            ),
            ContextSection(
                "Decisions of the last 7 days",
                await projects.decisions(db, project, since=now - RECENT, limit=DECISIONS, now=now),
            ),
        )
        ended = await projects.count_ended_sessions(db, project)
        graph = await count_graph(db, project)
    return fit_sections(_head(project), sections, _foot(counts, ended, graph), budget=budget)


def _head(project: str) -> str:
    name = escape_line(project)
    return (
        f"## Lamplighter memories for {name}\n\n{VERIFY} "
        f"If a memory is wrong, save the correction (mem_save, project {name!r})."
    )


def _foot(counts: dict[str, int], ended: int, graph: tuple[int, int]) -> str:
    kinds = ", ".join(f"{counts[each]:,} {each}" for each in MemoryKind if each in counts)
    past = "1 session" if ended == 1 else f"{ended:,} sessions"
    many = sum(counts.values())
    held = "1 memory is" if many == 1 else f"{many:,} memories are"
    line = f"{held} stored ({kinds}), from {past}. Use mem_search to find the others."
    if not graph[0]:
        return line
    entities = "1 entity" if graph[0] == 1 else f"{graph[0]:,} entities"
    edges = "1 relationship" if graph[1] == 1 else f"{graph[1]:,} relationships"
    return f"{line}\nKnowledge graph: {entities}, {edges}. Use mem_graph and mem_why to read it."
