"""Agents: those that settings tell of and those that came by themselves, and what each did."""

from collections.abc import Iterable
from dataclasses import dataclass

from lamplighter.domain.agent import Agent
from lamplighter.repository import Database, agents, reading
from lamplighter.repository.agents import Seen


@dataclass(frozen=True, slots=True)
class Known:
    """One agent: its settings, whether lamplighter.toml tells of it, and what it did here."""

    agent: Agent
    declared: bool
    seen: Seen


async def known(db: Database, declared: Iterable[Agent]) -> list[Known]:
    """Return every agent, those of the settings first, each kind by name."""
    told = {each.name: each for each in declared}
    async with reading(db):
        seen = await agents.seen(db)
    ours = [Known(told[name], True, seen.get(name, Seen())) for name in sorted(told)]
    came = [Known(Agent(name=name), False, seen[name]) for name in sorted(seen.keys() - told)]
    return ours + came
