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
        "Receive alerts from a monitor.",
        notification_shapes.DeliveryOut,
        status=202,
        problems=(400, 404, 413, 503),
    ),
    op(
        "GET",
        "/alerts",
        "sessions:read",
        webhooks.index,
        "List alerts, newest first.",
        notification_shapes.AlertPage,
        query=notification_shapes.AlertQuery,
    ),
    op(
        "GET",
        "/notices",
        "events:read",
        notices.index,
        "List notifications, newest first.",
        notification_shapes.NoticePage,
        query=notification_shapes.NoticeQuery,
    ),
    op(
        "GET",
        "/notices/{id:int}",
        "events:read",
        notices.show,
        "Read a notification and its delivery status.",
        notification_shapes.NoticeOut,
        problems=(404,),
    ),
    op(
        "POST",
        "/notices/test",
        "settings:write",
        notices.test,
        "Queue a test notification.",
        notification_shapes.NoticeOut,
        status=202,
        body=common_shapes.Empty,
    ),
)
