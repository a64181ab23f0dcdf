"""What comes in from outside, and what goes out."""

from typing import Final

from lamplighter.api import notices, shapes, webhooks
from lamplighter.api.routes.op import op
from lamplighter.domain.access import WEBHOOKS

OPS: Final = (
    op(
        "POST",
        "/webhooks/{source}",
        WEBHOOKS,
        webhooks.take,
        "Take in the alerts of a monitor.",
        shapes.Delivery,
        status=202,
        problems=(400, 404, 413, 503),
    ),
    op(
        "GET",
        "/alerts",
        "sessions:read",
        webhooks.index,
        "List alerts, newest first.",
        shapes.AlertPage,
        query=shapes.AlertQuery,
    ),
    op(
        "GET",
        "/notices",
        "events:read",
        notices.index,
        "List what people are told outside of the app, newest first.",
        shapes.NoticePage,
        query=shapes.NoticeQuery,
    ),
    op(
        "GET",
        "/notices/{id:int}",
        "events:read",
        notices.show,
        "Read what became of a notice.",
        shapes.Notice,
        problems=(404,),
    ),
    op(
        "POST",
        "/notices/test",
        "settings:write",
        notices.test,
        "Put a test into the outbox.",
        shapes.Notice,
        status=202,
        body=shapes.Empty,
    ),
)
