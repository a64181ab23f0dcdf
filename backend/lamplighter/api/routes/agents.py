"""Agents: named clients with a project and settings of their memory."""

from typing import Final

from lamplighter.api import agents, shapes
from lamplighter.api.routes.op import op

OPS: Final = (
    op(
        "GET",
        "/agents",
        "settings:read",
        agents.index,
        "List agents: their settings, and what they did here.",
        shapes.AgentPage,
        query=shapes.PageQuery,
    ),
)
