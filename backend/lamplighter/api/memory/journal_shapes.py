"""Shapes of the journal of operator acts, and of the trash."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import (
    OptionalBody,
    PageQuery,
    Seq,
    ShortText,
    page_of,
    public_shape,
)
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.repository.access.journal import JournalEntry

Action = Literal[
    "create",
    "edit",
    "confirm",
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
    "merge",
    "unmerge",
    "organize",
    "notebook",
    "verify",
    "incident",
    "withdraw",
    "apply",
    "configure",
    "pause",
    "unpause",
    "subscribe",
    "unsubscribe",
]


@public_shape(
    JournalEntry, without=["action"], id=("action", Action), subject=("final", str | None)
)
class ActOut(Struct):
    """One operator act; `changed` is null while it is running.

    `undoes` is the act that this act reverted, `undone_by` the act that reverted this one. An act
    with a reason in `final` cannot be undone; `subject` names its object.
    """


ActPage = page_of(ActOut, "A page of acts, newest first.", seq=Seq)


class UndoIn(OptionalBody):
    """Options of an undo; `partly` skips the memories that changed since."""

    partly: bool = False


class UndoneOut(Struct):
    """The result of an undo: its id, the reverted act, and the number of changed rows.

    `left` counts the memories that were skipped because they changed since.
    """

    act: int
    undoes: ActOut
    changed: int
    left: int
    seq: Seq


class TrashQuery(PageQuery):
    """Filters for deleted memories; `q` finds those that contain a text."""

    q: ShortText | None = None


class DiscardedOut(Struct):
    """A deleted memory in its last form; null if its row cannot be read.

    `purge_at` is the time of the permanent deletion, null for never. `changes` and `links` count
    its history entries and its links with other memories.
    """

    id: int
    memory: MemoryOut | None
    deleted_at: str
    deleted_by: str
    act: int | None
    purge_at: str | None
    changes: int
    links: int


TrashPage = page_of(
    DiscardedOut,
    "A page of deleted memories, highest id first, and their total number.",
    name="TrashPage",
    seq=Seq,
    total=int,
)
