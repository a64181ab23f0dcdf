"""Review: two claims contradict each other, and a person decides."""

from datetime import datetime

from lamplighter.domain.memory import Memory, MemoryId
from lamplighter.domain.review import Review, ReviewKind
from lamplighter.repository import Database, reviews, writing


async def open_review(
    db: Database,
    kind: ReviewKind,
    old: Memory,
    new_id: MemoryId,
    *,
    said: str,
    reason: str,
    session_id: int | None,
    now: datetime,
) -> Review:
    """Ask a person which of two memories is true; the case that is open for the pair stays.

    `new_id` is the memory that holds the new claim now, `said` the words it was said in.
    """
    async with writing(db):
        return await reviews.insert(
            db, kind, old, new_id, said=said, reason=reason, session_id=session_id, now=now
        )
