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
        "List events, newest first.",
        event_shapes.EventPage,
        query=event_shapes.EventQuery,
    ),
    op(
        "GET",
        "/events/groups",
        "events:read",
        events.groups,
        "List groups of repeated events, most recent first.",
        event_shapes.EventGroupPage,
        query=event_shapes.EventQuery,
    ),
    op(
        "GET",
        "/events/density",
        "events:read",
        events.density,
        "Count events over time, by level.",
        event_shapes.EventDensityOut,
        query=event_shapes.DensityQuery,
    ),
    op(
        "GET",
        "/events/{id:int}",
        "events:read",
        events.show,
        "Read an event.",
        event_shapes.EventOut,
        problems=(404,),
    ),
    op(
        "POST",
        "/events",
        "events:write",
        events.create,
        "Create an event.",
        event_shapes.EventOut,
        status=201,
        body=event_shapes.EventIn,
    ),
)
