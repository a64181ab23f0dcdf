"""Routes for incoming alerts and outgoing notifications."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.op import op
from lamplighter.api.services import notices, notification_shapes, webhooks
from lamplighter.domain.access.access import WEBHOOKS

OPS: Final = (
    op(
        "POST",
        "/webhooks/{source}",
        WEBHOOKS,
        webhooks.receive_alerts,
        notification_shapes.DeliveryOut,
        status=202,
        problems=(400, 404, 413, 503),
    ),
    op(
        "GET",
        "/alerts",
        "sessions:read",
        webhooks.index,
        notification_shapes.AlertPage,
        query=notification_shapes.AlertQuery,
    ),
    op(
        "GET",
        "/notices",
        "events:read",
        notices.index,
        notification_shapes.NoticePage,
        query=notification_shapes.NoticeQuery,
    ),
    op(
        "GET",
        "/notices/{id:int}",
        "events:read",
        notices.show,
        notification_shapes.NoticeOut,
        problems=(404,),
    ),
    op(
        "POST",
        "/notices/test",
        "settings:write",
        notices.test,
        notification_shapes.NoticeOut,
        status=202,
        body=common_shapes.Empty,
    ),
)
