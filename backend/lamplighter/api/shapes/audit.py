"""Audit: what is believed on a topic, and what it rests on."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.shapes.kinds import Limit
from lamplighter.api.shapes.memories import Memory


class Voice(Struct):
    """A session that confirmed, contradicted or was told something; null is a person."""

    session_id: int | None
    at: str | None


class Tally(Struct):
    """How often, and by or to which sessions: the last 20, newest first."""

    count: int
    sessions: list[Voice]


class Tie(Struct):
    """A link to or from another memory; `observation` is null when that was deleted."""

    what: str
    direction: Literal["to", "from"]
    memory_id: int
    observation: str | None
    active: bool
    session_id: int | None
    at: str


class Ties(Struct):
    """How a memory is linked: the last 20 links, newest first."""

    count: int
    items: list[Tie]


class OpenCase(Struct):
    """An open review, and the other memory of it."""

    id: int
    kind: str
    memory_id: int
    said: str
    at: str


class OpenCases(Struct):
    """The open reviews of a memory, newest first."""

    count: int
    items: list[OpenCase]


class Belief(Struct):
    """One memory and what it rests on.

    `inactive_from` is when it falls below 0.30 unless confirmed; null when it does not fade.
    """

    memory: Memory
    confirmed: Tally
    contradicted: Tally
    told: Tally
    links: Ties
    reviews: OpenCases
    inactive_from: str | None


class AuditPage(Struct):
    """What is believed on a topic, the active first; `service` when the topic is one."""

    topic: str
    service: str | None
    states: dict[str, int]
    items: list[Belief]
    next: str | None
    seq: int


class AuditQuery(Struct):
    """On which service or word."""

    topic: Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]
    cursor: str | None = None
    limit: Limit = 50
