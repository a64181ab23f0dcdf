"""Alerts, and the state of their deliveries."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Name, PageQuery, ShortText, page_of, public_shape
from lamplighter.domain.services.alert import AlertIncident
from lamplighter.domain.services.notice import Notice
from lamplighter.domain.sessions.session import SessionRequest

AlertState = Literal["firing", "resolved"]


@public_shape(AlertIncident, ("state",))
class AlertOut(Struct):
    """One incident that a monitor reported, and its session request."""


class DeliveredAlertOut(AlertOut):
    """An alert of a delivery; `new` is false for a repeated alert.

    `incident_id` is the open incident of its service, `page` its address in the app.
    """

    new: bool
    incident_id: int | None
    page: str | None


@public_shape(SessionRequest, without=("prompt",))
class AlertRequestOut(Struct):
    """The session request of an alert, without the prompt: the sender is not an operator."""


class DeliveryOut(Struct):
    """The result of a delivery: the request of its first alert, and each alert."""

    request: AlertRequestOut | None
    alerts: list[DeliveredAlertOut]


AlertPage = page_of(AlertOut, "A page of alerts, newest first.")


class AlertQuery(PageQuery):
    """Filters for alerts."""

    state: AlertState | None = None
    source: ShortText | None = None
    service: Name | None = None


NoticeState = Literal["waiting", "sending", "sent", "failed", "suppressed"]


@public_shape(Notice, ("kind", "state"))
class NoticeOut(Struct):
    """A notification; `problem` is the reason of the last failed delivery."""


NoticePage = page_of(NoticeOut, "A page of notifications, newest first.")


class NoticeQuery(PageQuery):
    """Filters for notifications."""

    state: NoticeState | None = None
