"""Alerts, and what becomes of what is delivered."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Limit, Name, ShortText
from lamplighter.api.sessions.shapes import SessionRequestOut
from lamplighter.domain.services.event import Level

AlertState = Literal["firing", "resolved"]


class AlertOut(Struct):
    """One incident that a monitor reported, and its session request."""

    id: int
    source: str
    fingerprint: str
    incident: str
    state: AlertState
    service: str | None
    severity: str
    title: str
    details: dict[str, str]
    request_id: int | None
    deliveries: int
    created_at: str
    last_at: str
    resolved_at: str | None
    version: int


class DeliveredAlertOut(AlertOut):
    """An alert of a delivery; `new` is false for a repeated alert."""

    new: bool


class DeliveryOut(Struct):
    """The result of a delivery: the request of its first alert, and each alert."""

    request: SessionRequestOut | None
    alerts: list[DeliveredAlertOut]


class AlertPage(Struct):
    """A page of alerts, newest first."""

    items: list[AlertOut]
    next: str | None
    seq: int


class AlertQuery(Struct):
    """Filters for alerts."""

    state: AlertState | None = None
    source: ShortText | None = None
    service: Name | None = None
    cursor: str | None = None
    limit: Limit = 50


NoticeState = Literal["waiting", "sending", "sent", "failed"]


class NoticeOut(Struct):
    """A notification; `problem` is the reason of the last failed delivery."""

    id: int
    kind: Literal["event", "approval", "halt", "test"]
    level: Level
    title: str
    body: str
    service: str | None
    event_id: int | None
    state: NoticeState
    attempts: int
    next_at: str | None
    problem: str
    created_at: str
    sent_at: str | None
    version: int


class NoticePage(Struct):
    """A page of notifications, newest first."""

    items: list[NoticeOut]
    next: str | None
    seq: int


class NoticeQuery(Struct):
    """Filters for notifications."""

    state: NoticeState | None = None
    cursor: str | None = None
    limit: Limit = 50
