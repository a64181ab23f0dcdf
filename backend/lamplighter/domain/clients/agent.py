"""Agents: named clients, each with a project and memory settings."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.clients.tool_hooks import Hooks
from lamplighter.domain.errors import Conflict, Invalid, InvalidField

CONTEXT_LIMIT: Final = 5
MOST_CONTEXT: Final = 50
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Permissions and context of one client, with the switches of agentops-memory.

    `context_limit` is the number of observations included per turn, 0 to 50. Without `auto_save`
    the agent has no mem_save, without `auto_search` no mem_search, without `auto_summarize` its
    sessions end without a summary. `memory_url` is another memory service to use instead of this
    one, empty for this one; `memory_token` is the token for that service.
    """

    name: str
    project: str = ""
    context_limit: int = CONTEXT_LIMIT
    auto_summarize: bool = True
    auto_save: bool = True
    auto_search: bool = True
    memory_url: str = ""
    memory_token: str = field(default="", repr=False)
    hooks: Hooks = field(default_factory=Hooks)

    @property
    def reads(self) -> str:
        """The project of the agent's knowledge."""
        return self.project or self.name


def silent_agents(agents: Iterable[Agent]) -> frozenset[str]:
    """Return the names of the agents that save nothing."""
    return frozenset(each.name for each in agents if not each.auto_save)


def validate_agent_name(given: str) -> str:
    """Return the name of an agent normalized for storage; raises Invalid."""
    name = given.strip().lower()
    if not NAME.fullmatch(name):
        rule = (
            "must have 1 to 64 lowercase letters, digits, dots, _ or -, and begin with a "
            "letter or digit"
        )
        raise Invalid(InvalidField("agent", rule))
    return name


def find_agent(agents: Iterable[Agent], name: str) -> Agent:
    """Return an agent by its name; an agent without settings has all defaults."""
    name = name.strip().lower()
    return next((each for each in agents if each.name == name), Agent(name=name))


def require_local(agent: Agent) -> Agent:
    """Return an agent that stores its knowledge here; raises Conflict naming the other service."""
    if agent.memory_url:
        raise Conflict(
            f"The agent {agent.name} stores its knowledge at {agent.memory_url} (memory_url "
            f"in lamplighter.toml). Use that service, or the MCP tools of the agent."
        )
    return agent
