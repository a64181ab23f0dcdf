"""What comes in from outside, and what goes out."""

from typing import Final

from lamplighter.api import shapes, webhooks
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
)
