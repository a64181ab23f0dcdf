"""Responses about agents and their context."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from lamplighter.api.common_shapes import page_of
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.domain.search.search import SearchMethod


class AgentOut(Struct):
    """An agent with its settings and activity; `declared` if lamplighter.toml has a table."""

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


AgentPage = page_of(AgentOut, "A page of agents, declared agents first.")


class ContextSessionOut(Struct):
    """A session whose summary the context includes."""

    id: int
    external_id: str | None
    summary: str
    ended_at: str | None


class ContextMemoryOut(Struct):
    """A memory that the context includes, with its method, score and line."""

    position: int
    method: SearchMethod
    score: float
    line: str
    memory: MemoryOut


class ExcludedMemoryOut(Struct):
    """A memory that the context excludes, with the reason."""

    why: str
    memory: MemoryOut


class AgentContextOut(Struct):
    """The context of an agent, and the reason for each included or excluded memory."""

    profile: Literal["agent"]
    agent: str | None
    project: str
    text: str
    tokens: int
    query: str
    sessions: list[ContextSessionOut]
    included: list[ContextMemoryOut]
    excluded: list[ExcludedMemoryOut]
    partial: bool
    missing: list[str]
    seq: int


class HookOutput(Struct, rename="camel"):
    """The context for the agent, in the format of Claude Code."""

    hook_event_name: str
    additional_context: str


class HookAnswer(Struct, rename="camel"):
    """The response to a hook: empty, or context for the agent."""

    hook_specific_output: HookOutput | UnsetType = UNSET


class ProjectMemoryOut(Struct):
    """A memory in the context at the start of an interactive session, and its line."""

    position: int
    line: str
    memory: MemoryOut


class ProjectContext(Struct):
    """The context at the start of an interactive session, with the reason for each memory."""

    profile: Literal["project"]
    project: str
    text: str
    tokens: int
    included: list[ProjectMemoryOut]
    excluded: list[ExcludedMemoryOut]
    seq: int
