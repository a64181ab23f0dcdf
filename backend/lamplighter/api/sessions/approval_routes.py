"""Approvals."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.op import op
from lamplighter.api.sessions import approval_shapes, approvals, halt

OPS: Final = (
    op(
        "GET",
        "/approvals",
        "approvals:read",
        approvals.index,
        approval_shapes.ApprovalPage,
        query=approval_shapes.ApprovalQuery,
    ),
    op(
        "GET",
        "/approvals/{id:int}",
        "approvals:read",
        approvals.show,
        approval_shapes.ApprovalCaseOut,
        problems=(404,),
    ),
    op(
        "PUT",
        "/approvals/{id:int}/decision",
        "approvals:write",
        approvals.decide,
        approval_shapes.ApprovalCaseOut,
        body=approval_shapes.DecisionIn,
        problems=(404, 409, 412),
        matches=True,
    ),
)


HALT_OPS: Final = (
    op(
        "GET",
        "/halt",
        "sessions:read",
        halt.show,
        approval_shapes.HaltOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "PUT",
        "/halt",
        "sessions:write",
        halt.pull,
        approval_shapes.HaltOut,
        body=approval_shapes.HaltIn,
    ),
    op("DELETE", "/halt", "sessions:write", halt.release, approval_shapes.HaltOut, problems=(409,)),
)
