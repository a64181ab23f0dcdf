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
        "List the runs of the organizer, newest first.",
        shapes.OrganizerRunPage,
        query=common_shapes.PageQuery,
        across=True,
    ),
    op(
        "POST",
        "/organizer/runs",
        "memories:write",
        runs.create,
        "Queue a run of the organizer; the supervisor begins it within seconds.",
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
        "Show what a run of the organizer would do now.",
        shapes.OrganizerReportOut,
        body=common_shapes.Empty,
        across=True,
    ),
    op(
        "GET",
        "/organizer/runs/{id:int}",
        "memories:read",
        runs.show,
        "Read a run with what it changed.",
        shapes.OrganizerDiffOut,
        problems=(404,),
        across=True,
    ),
    op(
        "POST",
        "/organizer/runs/{id:int}/undo",
        "memories:write",
        runs.undo,
        "Undo a run: every memory is as before; 409 names the rows that changed since.",
        shapes.RunUndoneOut,
        body=common_shapes.Empty,
        problems=(404, 409),
        across=True,
    ),
)
