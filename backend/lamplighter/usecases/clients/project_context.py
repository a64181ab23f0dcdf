"""The project context of an interactive session at its start (DESIGN section 5)."""

from datetime import datetime, timedelta

from lamplighter.domain.clients.interactive_text import (
    VERIFY,
    ContextSection,
    ProfileLimits,
    escape_line,
    fit_sections,
)
from lamplighter.domain.memory.memory import MemoryKind
from lamplighter.domain.project import normalize_project
from lamplighter.domain.sessions.context import MemoryBlock
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import projects
from lamplighter.usecases.graph.view import count_graph
from lamplighter.usecases.notebook.read import project_index


async def project_context(
    db: Database, project: str, limits: ProfileLimits, *, now: datetime
) -> MemoryBlock:
    """Return what is known of a project, within limits; empty where nothing is known.

    Only distilled, active memories that are not unverified. The counts show how many more
    a search may find.
    """
    project, since = normalize_project(project), now - limits.decision_age
    async with reading(db):
        counts = await projects.count_by_kind(db, project)
        index = await project_index(db, project, cap=limits.index_bytes)
        if not counts:
            return MemoryBlock()
        sections = (
            ContextSection(
                "Procedures",
                await projects.procedural(db, project, limit=limits.procedures, now=now),
            ),
            ContextSection(
                "Project facts",
                await projects.of_project(db, project, limit=limits.project, now=now),
            ),
            ContextSection(
                f"Decisions of the last {_duration(limits.decision_age)}",
                await projects.decisions(db, project, since=since, limit=limits.decisions, now=now),
            ),
        )
        ended = await projects.count_ended_sessions(db, project)
        graph = await count_graph(db, project)
    foot = _foot(counts, ended, graph)
    return fit_sections(_head(project), sections, foot, budget=limits.budget, index=index)


def _duration(age: timedelta) -> str:
    """Return an age in days, or in hours below two days."""
    hours = age // timedelta(hours=1)
    return f"{age.days} days" if age.days > 1 else f"{hours} hours"


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
