"""Approvals."""

from typing import Final

from lamplighter.api import approvals, shapes
from lamplighter.api.routes.op import op

OPS: Final = (
    op(
        "GET",
        "/approvals",
        "approvals:read",
        approvals.index,
        "List approvals: what sessions want to do and a person is asked about.",
        shapes.ApprovalPage,
        query=shapes.ApprovalQuery,
    ),
    op(
        "GET",
        "/approvals/{id:int}",
        "approvals:read",
        approvals.show,
        "Read an approval.",
        shapes.ApprovalCase,
        problems=(404,),
    ),
    op(
        "PUT",
        "/approvals/{id:int}/decision",
        "approvals:write",
        approvals.decide,
        "Approve what a session wants to do, deny it, or put another command in its place.",
        shapes.ApprovalCase,
        body=shapes.DecisionIn,
        problems=(404, 409, 412),
        matches=True,
    ),
)
