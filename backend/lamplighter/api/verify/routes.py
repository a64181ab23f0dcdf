"""Verification of memories."""

from typing import Final

from lamplighter.api.access import project_wall
from lamplighter.api.op import op
from lamplighter.api.verify import shapes, verify

_READ: Final = "memories:read"
_WRITE: Final = "memories:write"

OPS: Final = (
    op(
        "GET",
        "/verification",
        _READ,
        verify.index,
        shapes.VerificationOverviewOut,
        query=shapes.OutcomeQuery,
        across=True,
    ),
    op(
        "POST",
        "/verification",
        _WRITE,
        verify.run,
        shapes.VerificationRunOut,
        body=shapes.VerifyIn,
        problems=(404, 409),
        across=True,
    ),
    op(
        "GET",
        "/memories/{id:int}/verification",
        _READ,
        project_wall.restrict_memory(verify.show),
        shapes.MemoryVerificationOut,
        problems=(404,),
    ),
    op(
        "POST",
        "/memories/{id:int}/verify",
        _WRITE,
        verify.verify_one,
        shapes.MemoryVerificationOut,
        problems=(404, 409),
        across=True,
    ),
    op(
        "POST",
        "/memories/{id:int}/checks",
        _WRITE,
        verify.attach,
        shapes.MemoryCheckOut,
        status=201,
        body=shapes.MemoryCheckIn,
        problems=(404, 409),
        across=True,
    ),
    op(
        "DELETE",
        "/memories/{id:int}/checks/{entry:int}",
        _WRITE,
        verify.detach,
        None,
        status=204,
        problems=(404,),
        across=True,
    ),
)
