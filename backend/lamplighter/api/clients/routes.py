"""Agents: named clients with a project and settings of their memory."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.clients import agents, hooks, shapes
from lamplighter.api.op import op

OPS: Final = (
    op(
        "GET",
        "/agents",
        "settings:read",
        agents.index,
        shapes.AgentPage,
        query=common_shapes.PageQuery,
    ),
)


HOOK_OPS: Final = (
    op(
        "POST",
        "/hooks/{event}",
        "knowledge:write",
        hooks.receive,
        shapes.HookAnswer,
        problems=(400, 404),
    ),
)
