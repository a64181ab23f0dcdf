"""The change: one entry of the feed that keeps every screen true."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class ChangeOp(StrEnum):
    """What became of a row."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Change:
    """One change; `seq` is in the order of commits and never used again."""

    seq: int
    entity: str
    entity_id: int
    op: ChangeOp
    version: int
    row: dict[str, Any] | None
    at: datetime
