"""Alerts, and what becomes of what is delivered."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Limit, Name, Words
from lamplighter.api.sessions.shapes import Request
from lamplighter.domain.services.event import Level

AlertState = Literal["firing", "resolved"]


class Alert(Struct):
    """One incident that a monitor told of, and the request it became."""

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


class Delivered(Alert):
    """An alert of a delivery; `new` says that it was not known before."""

    new: bool


class Delivery(Struct):
    """What became of a delivery: the request of its first alert, and each alert."""

    request: Request | None
    alerts: list[Delivered]


class AlertPage(Struct):
    """Some alerts, newest first."""

    items: list[Alert]
    next: str | None
    seq: int


class AlertQuery(Struct):
    """Which alerts."""

    state: AlertState | None = None
    source: Words | None = None
    service: Name | None = None
    cursor: str | None = None
    limit: Limit = 50


NoticeState = Literal["waiting", "sending", "sent", "failed"]


class Notice(Struct):
    """What people are told: `problem` says why it was not taken the last time."""

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
    """Some notices, newest first."""

    items: list[Notice]
    next: str | None
    seq: int


class NoticeQuery(Struct):
    """Which notices."""

    state: NoticeState | None = None
    cursor: str | None = None
    limit: Limit = 50
