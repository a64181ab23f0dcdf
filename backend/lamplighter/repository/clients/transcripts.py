"""Queries on the transcripts that users of interactive sessions hand over."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from lamplighter.domain.clients.handover import MAX_MESSAGES
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.session_tables import transcript_messages
from lamplighter.repository.store.statements import prepare_insert

_ROW = transcript_messages.c
_INSERT = prepare_insert(transcript_messages, "session_id", "key", "role", "text", "created_at")


async def keep(
    db: Database,
    session_id: int,
    messages: Collection[tuple[str, str, str]],
    *,
    now: datetime,
) -> int:
    """Keep the messages of a session that are not kept yet; return how many.

    Of one session at most 1,000 are kept. Call it within `writing`.
    """
    query = sa.select(_ROW.key).where(_ROW.session_id == session_id)
    held = {row["key"] for row in await db.fetch_all(query)}
    fresh = {key: (role, text) for key, role, text in messages if key not in held}
    values = [
        {"session_id": session_id, "key": key, "role": role, "text": text, "created_at": now}
        for key, (role, text) in fresh.items()
    ][: max(0, MAX_MESSAGES - len(held))]
    if values:
        await db.run_many(_INSERT, values)
    return len(values)


async def prune(db: Database, *, before: datetime) -> int:
    """Remove the messages from before a moment; the facts in them stay."""
    return int(await db.execute(sa.delete(transcript_messages).where(_ROW.created_at < before)))
