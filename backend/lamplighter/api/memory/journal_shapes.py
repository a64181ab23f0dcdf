"""The journal of operator acts, and the trash: as they go out, and what may come in."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Limit, Seq, Words
from lamplighter.api.memory.shapes import Memory

Action = Literal[
    "create",
    "edit",
    "delete",
    "restore",
    "purge",
    "confidence",
    "adjust",
    "deactivate",
    "activate",
    "revert",
    "review",
    "reset",
    "undo",
    "approve",
    "deny",
    "replace",
    "take",
    "halt",
    "resume",
    "import",
    "token",
    "revoke",
]


class Act(Struct):
    """One act of an operator; `changed` is null while it is running.

    `undoes` is the act that it undid, `undone_by` the act that undid it. An act with a reason
    in `final` cannot be undone; `subject` names what it was about.
    """

    id: int
    action: Action
    actor: str
    created_at: str
    value: float | None
    memory_id: int | None
    review_id: int | None
    service: str | None
    changed: int | None
    undoes: int | None
    undone_by: int | None
    subject: str | None
    final: str | None


class ActPage(Struct):
    """Some acts, the newest first."""

    items: list[Act]
    next: str | None
    seq: Seq


class UndoIn(Struct):
    """How an act is undone; `partly` leaves as they are the memories that changed since."""

    partly: bool = False


class Undone(Struct):
    """What an undo did: its own number, the act it undid, and how many rows it changed.

    `left` counts the memories that were left as they are because they changed since.
    """

    act: int
    undoes: Act
    changed: int
    left: int
    seq: Seq


class TrashQuery(Struct):
    """Which deleted memories; `q` finds those that contain a text."""

    q: Words | None = None
    cursor: str | None = None
    limit: Limit = 50


class Discarded(Struct):
    """A deleted memory as it was; null where its row cannot be read.

    `purge_at` is when it will be deleted permanently, null for never. `changes` and `links`
    count what belongs to it: entries of its history, and links with other memories.
    """

    id: int
    memory: Memory | None
    deleted_at: str
    deleted_by: str
    act: int | None
    purge_at: str | None
    changes: int
    links: int


class TrashPage(Struct):
    """Some deleted memories, the highest number first, and how many there are in all."""

    items: list[Discarded]
    next: str | None
    seq: Seq
    total: int
