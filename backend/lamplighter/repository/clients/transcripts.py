"""Queries on the transcripts that interactive sessions submit."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.domain.clients.handover import MAX_MESSAGES, USER, blank_key, repeats_prompt
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import prepare_insert
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
    query = sa.select(_ROW.key).where(_ROW.session_id == session_id)
    stored_keys = {row["key"] for row in await db.fetch_all(query)}
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
    query = sa.select(_ROW.id).where(*(_ROW[name] == value for name, value in about.items()))
    if await db.fetch_val(query) is None:
        mark = {**about, "role": USER, "text": "", "created_at": now, "deleted_at": now}
        await db.run_many(_INSERT, [mark])


async def withdrawn_texts(db: Database, session_id: int, texts: Collection[str]) -> set[str]:
    """Return the texts of user messages that repeat a withdrawn or deleted prompt."""
    prompts = await _withdrawn_prompts(db, session_id)
    query = sa.select(_ROW.key).where(
        _ROW.session_id == session_id, _ROW.key.startswith(blank_key("").partition(":")[0])
    )
    blanked = {row["key"] for row in await db.fetch_all(query)}
    return {
        text
        for text in texts
        if blank_key(text) in blanked or any(repeats_prompt(text, each) for each in prompts)
    }


async def _set(db: Database, ids: Collection[int], **values: Any) -> None:
    await db.execute(sa.update(transcript_messages).where(_ROW.id.in_(ids)).values(**values))


async def _repeating(db: Database, prompt: ClientPrompt) -> list[int]:
    query = sa.select(_ROW.id, _ROW.text).where(
        _ROW.session_id == prompt.session_id, _ROW.role == USER, _ROW.text != ""
    )
    found = await db.fetch_all(query.order_by(_ROW.id))
    return [row["id"] for row in found if repeats_prompt(row["text"], prompt.content)]


async def _withdrawn_prompts(db: Database, session_id: int) -> list[str]:
    query = sa.select(client_prompts.c.content).where(
        client_prompts.c.session_id == session_id, client_prompts.c.deleted_at.is_not(None)
    )
    return [row["content"] for row in await db.fetch_all(query.order_by(client_prompts.c.id))]


async def prune(db: Database, *, before: datetime) -> int:
    """Remove the messages from before `before`; the extracted facts stay."""
    return int(await db.execute(sa.delete(transcript_messages).where(_ROW.created_at < before)))
