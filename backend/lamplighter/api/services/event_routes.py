"""Events."""

from typing import Final

from lamplighter.api.op import op
from lamplighter.api.services import event_shapes, events

OPS: Final = (
    op(
        "GET",
        "/events",
        "events:read",
        events.index,
        event_shapes.EventPage,
        query=event_shapes.EventQuery,
    ),
    op(
        "GET",
        "/events/groups",
        "events:read",
        events.groups,
        event_shapes.EventGroupPage,
        query=event_shapes.EventQuery,
    ),
    op(
        "GET",
        "/events/density",
        "events:read",
        events.density,
        event_shapes.EventDensityOut,
        query=event_shapes.DensityQuery,
    ),
    op(
        "GET",
        "/events/{id:int}",
        "events:read",
        events.show,
        event_shapes.EventOut,
        problems=(404,),
    ),
    op(
        "POST",
        "/events",
        "events:write",
        events.create,
        event_shapes.EventOut,
        status=201,
        body=event_shapes.EventIn,
    ),
)
