"""The routes of push checks; `/push/…` needs no caller, only its key."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.op import Operation, op
from lamplighter.api.services.push import push, shapes

_CHECK: Final = "/services/{name}/checks/{check}"
OPEN: Final = tuple(
    Operation(
        method=method,
        path=path,
        scope=None,
        ask=push.receive,
        about=about,
        gives=None,
        media="text/plain",
        problems=(404, 429),
    )
    for path, about in (
        ("/push/{key}", "Report that a run of a job succeeded."),
        ("/push/{key}/{signal}", "Report `start`, `fail` or the exit status of a job."),
    )
    for method in ("GET", "POST")
)
OPS: Final = (
    *OPEN,
    op(
        "POST",
        f"{_CHECK}/push-key",
        "services:write",
        push.create_key,
        shapes.PushKeyOut,
        status=201,
        body=common_shapes.Empty,
        problems=(404,),
    ),
    op(
        "GET",
        f"{_CHECK}/signals",
        "services:read",
        push.list_signals,
        shapes.PushSignalPage,
        query=common_shapes.PageQuery,
        problems=(404,),
    ),
)
