"""The project context of an interactive session at its start (DESIGN section 5)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.clients.digest import SessionDigest, render_digests
from lamplighter.domain.clients.interactive_text import (
    VERIFY,
    ContextSection,
    escape_line,
    fit_sections,
)
from lamplighter.domain.memory.memory import MemoryKind
from lamplighter.domain.sessions.context import CHARS_PER_TOKEN, MemoryBlock, estimate_tokens
from lamplighter.domain.sessions.session import ProfileLimits
from lamplighter.domain.text import normalize_project
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import projects
from lamplighter.usecases.graph.view import count_graph
from lamplighter.usecases.notebook.read import project_index

NOTHING: Final = "No memories of this project yet."


async def start_block(
    db: Database,
    project: str,
    limits: ProfileLimits,
    digests: Sequence[SessionDigest] = (),
    *,
    now: datetime,
) -> MemoryBlock:
    """Return the start block of a session: the context of its project, and the request to save.

    Without knowledge of the project, it is the request alone.
    """
    block = await project_context(db, project, limits, digests, now=now)
    text = f"{_title(project)}\n\n{NOTHING} {_request(project)}\n"
    if block.text or len(text) > limits.budget * CHARS_PER_TOKEN:
        return block
    return replace(block, text=text, tokens=estimate_tokens(text))


async def project_context(
    db: Database,
    project: str,
    limits: ProfileLimits,
    digests: Sequence[SessionDigest] = (),
    *,
    now: datetime,
) -> MemoryBlock:
    """Return the knowledge of a project, within limits; empty if there is none.

    `digests` are those of its last sessions, newest first. Only distilled, active memories that are
    not unverified are included. The counts show how many more a search may find.
    """
    project, start = normalize_project(project), now - limits.decision_age
    async with reading(db):
        counts = await projects.count_by_kind(db, project, now=now)
        sessions = render_digests(digests, limits.budget)
        index = await project_index(db, project, cap=limits.index_bytes, now=now)
        if not counts and not sessions:
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
                await projects.decisions(db, project, start=start, limit=limits.decisions, now=now),
            ),
        )
        ended = await projects.count_ended_sessions(db, project)
        graph = await count_graph(db, project)
    foot = "\n\n".join(filter(None, (sessions, _foot(counts, ended, graph))))
    return fit_sections(_head(project), sections, foot, budget=limits.budget, index=index)


def subagent_text(project: str, digests: Sequence[SessionDigest], limits: ProfileLimits) -> str:
    """Return the text for a subagent: the digests of the last sessions; empty without any."""
    sessions = render_digests(digests, limits.budget)
    return f"{_title(project)}\n\n{VERIFY} {_request(project)}\n\n{sessions}\n" if sessions else ""


def _duration(age: timedelta) -> str:
    """Return an age in days, or in hours below two days."""
    hours = age // timedelta(hours=1)
    return f"{age.days} days" if age.days > 1 else f"{hours} hours"


def _head(project: str) -> str:
    wrong = "If a memory is wrong, save the correction."
    return f"{_title(project)}\n\n{VERIFY} {wrong} {_request(project)}"


def _title(project: str) -> str:
    return f"## Lamplighter memories for {escape_line(project)}"


def _request(project: str) -> str:
    return (
        f"Save what later sessions need (mem_save, project {escape_line(project)!r}): decisions "
        "and their reasons, causes and fixes, surprises. Use a topic_key for facts that may change."
    )


def _foot(counts: dict[str, int], ended: int, graph: tuple[int, int]) -> str:
    if not counts:
        return "No memories are stored yet."
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
