"""Agents, and what one is told before a turn."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from lamplighter.api.memory.shapes import Memory
from lamplighter.domain.search.search import Method


class Agent(Struct):
    """An agent: its settings, and what it did here; `declared` is one that settings tell of."""

    name: str
    project: str
    declared: bool
    context_limit: int
    auto_summarize: bool
    auto_save: bool
    auto_search: bool
    save_rules: int
    inject_rules: int
    memory_url: str
    last_seen_at: str | None
    sessions: int
    running: int
    saved: int


class AgentPage(Struct):
    """Some agents, those that settings tell of first."""

    items: list[Agent]
    next: str | None
    seq: int


class ToldSession(Struct):
    """A session whose summary an agent is told."""

    id: int
    external_id: str | None
    summary: str
    ended_at: str | None


class ToldMemory(Struct):
    """A memory that an agent is told, how it was found, and its line."""

    position: int
    method: Method
    score: float
    line: str
    memory: Memory


class LeftOut(Struct):
    """A memory that an agent is not told, and why."""

    why: str
    memory: Memory


class AgentContext(Struct):
    """What an agent is told before a turn: the text, and why each memory is in or out of it."""

    profile: Literal["agent"]
    agent: str | None
    project: str
    text: str
    tokens: int
    query: str
    sessions: list[ToldSession]
    included: list[ToldMemory]
    excluded: list[LeftOut]
    partial: bool
    missing: list[str]
    seq: int


class HookOutput(Struct, rename="camel"):
    """What the agent is told, in Claude Code's form."""

    hook_event_name: str
    additional_context: str


class HookAnswer(Struct, rename="camel"):
    """The answer to a hook: nothing, or what the agent is told."""

    hook_specific_output: HookOutput | UnsetType = UNSET


class ToldOfProject(Struct):
    """A memory that an interactive session is told at its start, and its line."""

    position: int
    line: str
    memory: Memory


class ProjectContext(Struct):
    """What an interactive session is told at its start, and why each memory is in or out."""

    profile: Literal["project"]
    project: str
    text: str
    tokens: int
    included: list[ToldOfProject]
    excluded: list[LeftOut]
    seq: int
