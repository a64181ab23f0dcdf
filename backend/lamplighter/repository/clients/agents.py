"""Activity of agents: last contact, sessions and saved memories."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import memories, sessions, tokens


@dataclass(slots=True)
class AgentActivity:
    """The activity of one agent."""

    last: datetime | None = None
    sessions: int = 0
    running: int = 0
    saved: int = 0

    def at(self, moment: datetime | None) -> None:
        """Record a contact of the agent, if it is the latest."""
        if moment is not None and (self.last is None or moment > self.last):
            self.last = moment


async def activity_by_agent(db: Database) -> dict[str, AgentActivity]:
    """Return the activity of every agent that has a session or a token, by name."""
    activities: dict[str, AgentActivity] = {}
    for row in await db.fetch_all(_SESSIONS):
        each = activities.setdefault(row["agent"], AgentActivity())
        each.sessions, each.running = row["count"], row["running"]
        each.at(row["started"])
        each.at(row["ended"])
    for row in await db.fetch_all(_SAVED):
        activities.setdefault(row["agent"], AgentActivity()).saved = row["count"]
    for row in await db.fetch_all(_TOKENS):
        activities.setdefault(row["agent"], AgentActivity()).at(row["used"])
    return activities


_SESSIONS = (
    sa.select(
        sessions.c.agent,
        sa.func.count().label("count"),
        sa.func.sum(sa.case((sessions.c.status == "running", 1), else_=0)).label("running"),
        sa.func.max(sessions.c.started_at).label("started"),
        sa.func.max(sessions.c.ended_at).label("ended"),
    )
    .where(sessions.c.agent.is_not(None))
    .group_by(sessions.c.agent)
    .order_by(sessions.c.agent)
)
_SAVED = (
    sa.select(sessions.c.agent, sa.func.count().label("count"))
    .select_from(memories.join(sessions, memories.c.session_id == sessions.c.id))
    .where(sessions.c.agent.is_not(None))
    .group_by(sessions.c.agent)
    .order_by(sessions.c.agent)
)
_TOKENS = (
    sa.select(tokens.c.agent, sa.func.max(tokens.c.used_at).label("used"))
    .where(tokens.c.agent.is_not(None))
    .group_by(tokens.c.agent)
    .order_by(tokens.c.agent)
)
