"""The organizer."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.op import op
from lamplighter.api.organize import runs, shapes

OPS: Final = (
    op(
        "GET",
        "/organizer/runs",
        "memories:read",
        runs.index,
        shapes.OrganizerRunPage,
        query=common_shapes.PageQuery,
        across=True,
    ),
    op(
        "POST",
        "/organizer/runs",
        "memories:write",
        runs.create,
        shapes.OrganizerRunOut,
        status=202,
        body=common_shapes.Empty,
        problems=(409,),
        across=True,
    ),
    op(
        "POST",
        "/organizer/preview",
        "memories:read",
        runs.preview,
        shapes.OrganizerReportOut,
        body=common_shapes.Empty,
        across=True,
    ),
    op(
        "GET",
        "/organizer/runs/{id:int}",
        "memories:read",
        runs.show,
        shapes.OrganizerDiffOut,
        problems=(404,),
        across=True,
    ),
    op(
        "POST",
        "/organizer/runs/{id:int}/undo",
        "memories:write",
        runs.undo,
        shapes.RunUndoneOut,
        body=common_shapes.Empty,
        problems=(404, 409),
        across=True,
    ),
)
