"""The agent: a named client with its own project and settings of its memory."""

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

    `context_limit` is how many observations it is told a turn, 0 to 50. Without
    `auto_save` it has no mem_save, without `auto_search` no mem_search, without
    `auto_summarize` its sessions end without a summary. `memory_url` is the memory
    service it uses in the place of this one, empty for this one; `memory_token` is what
    it shows there.
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
        """The project that it keeps its knowledge in."""
        return self.project or self.name


def silent_agents(agents: Iterable[Agent]) -> frozenset[str]:
    """Return the names of the agents that save nothing."""
    return frozenset(each.name for each in agents if not each.auto_save)


def validate_agent_name(given: str) -> str:
    """Return the name of an agent as it is kept; raises Invalid."""
    name = given.strip().lower()
    if not NAME.fullmatch(name):
        rule = (
            "must have 1 to 64 lowercase letters, digits, dots, _ or -, and begin with a "
            "letter or digit"
        )
        raise Invalid(InvalidField("agent", rule))
    return name


def find_agent(agents: Iterable[Agent], name: str) -> Agent:
    """Return an agent by its name; one without settings has every default."""
    name = name.strip().lower()
    return next((each for each in agents if each.name == name), Agent(name=name))


def require_local(agent: Agent) -> Agent:
    """Return an agent whose knowledge is here; raises Conflict, saying where it is."""
    if agent.memory_url:
        raise Conflict(
            f"The agent {agent.name} stores its knowledge at {agent.memory_url} (memory_url "
            f"in lamplighter.toml). Use that service, or the MCP tools of the agent."
        )
    return agent
