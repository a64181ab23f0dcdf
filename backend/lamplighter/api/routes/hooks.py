"""Hooks of interactive agents."""

from typing import Final

from lamplighter.api import hooks, shapes
from lamplighter.api.routes.op import op

OPS: Final = (
    op(
        "POST",
        "/hooks/{event}",
        "knowledge:write",
        hooks.take,
        "Take in what happens in an interactive session, and tell it what is known.",
        shapes.HookAnswer,
        problems=(400, 404),
    ),
)
