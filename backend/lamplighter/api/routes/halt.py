"""The halt."""

from typing import Final

from lamplighter.api import halt, shapes
from lamplighter.api.routes.op import op

OPS: Final = (
    op(
        "GET",
        "/halt",
        "sessions:read",
        halt.show,
        "Read whether everything is halted, and by whom.",
        shapes.Halt,
        query=shapes.Nothing,
    ),
    op(
        "PUT",
        "/halt",
        "sessions:write",
        halt.pull,
        "Halt everything.",
        shapes.Halt,
        body=shapes.HaltIn,
    ),
    op(
        "DELETE",
        "/halt",
        "sessions:write",
        halt.release,
        "Let everything go on.",
        shapes.Halt,
        problems=(409,),
    ),
)
