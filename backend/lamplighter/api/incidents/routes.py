"""Incidents."""

from typing import Final

from lamplighter.api.incidents import incidents, shapes
from lamplighter.api.op import op

OPS: Final = (
    op(
        "GET",
        "/incidents",
        "sessions:read",
        incidents.index,
        shapes.IncidentPage,
        query=shapes.IncidentQuery,
        across=True,
    ),
    op(
        "GET",
        "/incidents/{id:int}",
        "sessions:read",
        incidents.show,
        shapes.IncidentDetailOut,
        problems=(404,),
        across=True,
    ),
    op(
        "GET",
        "/incidents/{id:int}/replay",
        "sessions:read",
        incidents.show_replay,
        shapes.ReplayOut,
        query=shapes.ReplayQuery,
        problems=(404,),
        across=True,
    ),
    op(
        "PATCH",
        "/incidents/{id:int}",
        "sessions:write",
        incidents.update,
        shapes.IncidentOut,
        body=shapes.IncidentIn,
        problems=(404, 409),
        across=True,
    ),
)
