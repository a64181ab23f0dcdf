"""Notices."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.shapes.kinds import Limit
from lamplighter.domain.event import Level

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
