"""Revocations."""

from typing import Final

from lamplighter.api.op import op
from lamplighter.api.revoke import revocations, shapes

OPS: Final = (
    op(
        "POST",
        "/revocations/preview",
        "memories:read",
        revocations.preview,
        "Show what a revocation would revert, and how the next prompts would change.",
        shapes.RevocationOut,
        body=shapes.RevocationIn,
        problems=(404, 409),
        across=True,
    ),
    op(
        "POST",
        "/revocations",
        "memories:write",
        revocations.create,
        "Revert everything that a session, an agent or a source taught, in one act.",
        shapes.RevocationOut,
        body=shapes.RevocationIn,
        problems=(404, 409),
        across=True,
    ),
)
