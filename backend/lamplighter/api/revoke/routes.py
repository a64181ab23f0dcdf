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
        shapes.RevocationOut,
        body=shapes.RevocationIn,
        problems=(404, 409),
        across=True,
    ),
)
