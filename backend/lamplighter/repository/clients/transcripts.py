"""Queries on the transcripts that interactive sessions submit."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.domain.clients.handover import MAX_MESSAGES, USER, blank_key, repeats_prompt
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import (
    equal_to,
    has_row,
    prepare_insert,
    update_rows,
    values_of,
)
from lamplighter.repository.store.tables import client_prompts, transcript_messages

_ROW = transcript_messages.c
_INSERT = prepare_insert(
    transcript_messages, "session_id", "key", "role", "text", "created_at", "deleted_at"
)


async def keep(
    db: Database,
    session_id: int,
    messages: Collection[tuple[str, str, str]],
    *,
    now: datetime,
) -> int:
    """Store the new messages of a session, and return their number.

    At most 1,000 messages are stored per session. A deleted prompt is stored as deleted, without
    its text if the deletion was permanent. Call it within `writing`.
    """
    stored_keys = set(await values_of(db, _ROW.key, _ROW.session_id == session_id))
    fresh = {key: (role, text) for key, role, text in messages if key not in stored_keys}
    texts = {text for role, text in fresh.values() if role == USER}
    withdrawn = await withdrawn_texts(db, session_id, texts) if texts else set()
    values = []
    for key, (role, text) in fresh.items():
        blank = role == USER and blank_key(text) in stored_keys
        gone = role == USER and text in withdrawn
        about = {"session_id": session_id, "key": key, "role": role, "created_at": now}
        values.append({**about, "text": "" if blank else text, "deleted_at": now if gone else None})
    values = values[: max(0, MAX_MESSAGES - len(stored_keys))]
    if values:
        await db.run_many(_INSERT, values)
    return len(values)


async def withdraw(db: Database, prompt: ClientPrompt, *, now: datetime) -> None:
    """Withdraw the messages that repeat a prompt, which are then no longer read."""
    await _set(db, await _repeating(db, prompt), deleted_at=now)


async def restore(db: Database, prompt: ClientPrompt) -> None:
    """Restore the messages that repeat a prompt."""
    await _set(db, await _repeating(db, prompt), deleted_at=None)


async def blank(db: Database, prompt: ClientPrompt, *, now: datetime) -> None:
    """Permanently remove the text of a prompt, also from messages that arrive later.

    The keys of its messages stay, because a session submits the same lines again. A marker row is
    added, even if the session has reached its maximum number of messages.
    """
    await _set(db, await _repeating(db, prompt), text="", deleted_at=now)
    about = {"session_id": prompt.session_id, "key": blank_key(prompt.content)}
    if not await has_row(db, *equal_to(_ROW, **about)):
        mark = {**about, "role": USER, "text": "", "created_at": now, "deleted_at": now}
        await db.run_many(_INSERT, [mark])


async def withdrawn_texts(db: Database, session_id: int, texts: Collection[str]) -> set[str]:
    """Return the texts of user messages that repeat a withdrawn or deleted prompt."""
    columns = client_prompts.c
    own = (columns.session_id == session_id, columns.deleted_at.is_not(None))
    prompts = await values_of(db, columns.content, *own)
    is_mark = _ROW.key.startswith(blank_key("").partition(":")[0])
    blanked = await values_of(db, _ROW.key, _ROW.session_id == session_id, is_mark)
    return {
        text
        for text in texts
        if blank_key(text) in blanked or any(repeats_prompt(text, each) for each in prompts)
    }


async def _set(db: Database, ids: Collection[int], **values: Any) -> None:
    await update_rows(db, transcript_messages, _ROW.id.in_(ids), **values)


async def _repeating(db: Database, prompt: ClientPrompt) -> list[int]:
    query = sa.select(_ROW.id, _ROW.text).where(
        _ROW.session_id == prompt.session_id, _ROW.role == USER, _ROW.text != ""
    )
    found = await db.fetch_all(query.order_by(_ROW.id))
    return [row["id"] for row in found if repeats_prompt(row["text"], prompt.content)]


async def prune(db: Database, *, before: datetime) -> int:
    """Remove the messages from before `before`; the extracted facts stay."""
    return int(await db.execute(sa.delete(transcript_messages).where(_ROW.created_at < before)))
