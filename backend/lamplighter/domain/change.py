"""Changes: the entries of the feed that updates every screen."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class ChangeOp(StrEnum):
    """The operation on a row."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Change:
    """One change; `seq` follows the order of commits and is never reused."""

    seq: int
    entity: str
    entity_id: int
    op: ChangeOp
    version: int
    row: dict[str, Any] | None
    at: datetime

    @property
    def ids(self) -> list[int]:
        """The IDs of its rows; only a batch may have several."""
        if self.op is not ChangeOp.BATCH:
            return [self.entity_id]
        return list((self.row or {}).get("ids", ()))
