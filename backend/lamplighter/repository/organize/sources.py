"""The sources that the organizer reads besides memories, and the texts read so far, by hash."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import OPERATIONS, Source
from lamplighter.domain.organize.scan import SCANNED_FOR, ScannedText
from lamplighter.domain.sessions.session import Status
from lamplighter.domain.text import comparison_key
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import prepare_insert
from lamplighter.repository.store.tables import (
    events,
    incidents,
    memories,
    organizer_sources,
    sessions,
    transcript_messages,
    trash,
)

PAGE_ROWS: Final = 500
_MARK: Final = prepare_insert(organizer_sources, "source", "ref", "version", "hash", "run_id", "at")


def _texts(*columns: sa.Column[str]) -> Any:
    first, *more = [sa.func.coalesce(each, "") for each in columns]
    return reduce(lambda joined, part: joined + "\n" + part, more, first)  # type: ignore[arg-type, return-value]


def _query(source: str, table: Any, at: Any, **columns: Any) -> Any:
    """Select the rows of a source that are new, or newer than the version that was read."""
    of_source = sa.and_(organizer_sources.c.source == source, organizer_sources.c.ref == table.c.id)
    values = {"project": sa.literal(OPERATIONS), "service": sa.null(), "session": sa.null()}
    values |= columns
    version = table.c.get("version", sa.literal(1))
    return (
        sa.select(
            table.c.id,
            version.label("version"),
            at.label("at"),
            organizer_sources.c.hash.label("read"),
            *(value.label(name) for name, value in values.items()),
        )
        .select_from(table.outerjoin(organizer_sources, of_source))
        .where(organizer_sources.c.version.is_(None) | (organizer_sources.c.version < version))
        .order_by(table.c.id)
        .limit(PAGE_ROWS)
    )


_SOURCES: Final = {
    "session": (
        sessions,
        sessions.c.ended_at,
        _query(
            "session",
            sessions,
            sessions.c.ended_at,
            project=sessions.c.project,
            session=sessions.c.id,
            text=_texts(sessions.c.summary, sessions.c.response),
        ).where(sessions.c.status != Status.RUNNING),
    ),
    "event": (
        events,
        events.c.created_at,
        _query(
            "event",
            events,
            events.c.created_at,
            service=events.c.service,
            session=events.c.session_id,
            text=_texts(events.c.text),
        ),
    ),
    "transcript": (
        transcript_messages,
        transcript_messages.c.created_at,
        _query(
            "transcript",
            transcript_messages,
            transcript_messages.c.created_at,
            project=sa.select(sessions.c.project)
            .where(sessions.c.id == transcript_messages.c.session_id)
            .scalar_subquery(),
            session=transcript_messages.c.session_id,
            text=_texts(transcript_messages.c.text),
        ).where(transcript_messages.c.deleted_at.is_(None)),
    ),
    "incident": (
        incidents,
        incidents.c.resolved_at,
        _query(
            "incident",
            incidents,
            incidents.c.resolved_at,
            service=incidents.c.service,
            text=_texts(incidents.c.note),
        ),
    ),
}


_OF_SESSIONS: Final = {
    "session": sessions.c.id,
    "event": events.c.session_id,
    "transcript": transcript_messages.c.session_id,
}
"""The session of a text, by the source of the text."""


async def unread(
    db: Database, *, silent: Collection[str] = (), now: datetime
) -> AsyncIterator[list[tuple[ScannedText, str | None]]]:
    """Yield unread texts in batches, each with the hash of the version that was read.

    The rows of client sessions are sessions too. Texts of `silent` agents are left out, and texts
    older than 31 days.
    """
    for source, (table, *_) in _SOURCES.items():
        last, recent = 0, _recent(source, silent, now)
        while rows := await db.fetch_all(recent.where(table.c.id > last)):
            last = rows[-1]["id"]
            yield [_scanned(source, row) for row in rows]


async def count_unread(db: Database, *, silent: Collection[str] = (), now: datetime) -> int:
    """Return the number of texts that `unread` would yield."""
    found = 0
    for source, (table, *_) in _SOURCES.items():
        query = _recent(source, silent, now).with_only_columns(sa.func.count(table.c.id))
        found += int(await db.fetch_val(query.order_by(None).limit(None)) or 0)
    return found


def _recent(source: str, silent: Collection[str], now: datetime) -> Any:
    _, at, query = _SOURCES[source]
    recent = query.where(at >= now - SCANNED_FOR)
    if silent and source in _OF_SESSIONS:
        of_silent = sa.select(sessions.c.id).where(sessions.c.agent.in_(silent))
        said = _OF_SESSIONS[source]
        recent = recent.where(said.is_(None) | said.not_in(of_silent))
    return recent


async def mark_read(db: Database, some: Sequence[ScannedText], run: int, *, now: datetime) -> None:
    """Mark texts of one source as read; call it within `writing`."""
    source = some[0].source
    refs = [each.ref for each in some]
    await db.execute(
        sa.delete(organizer_sources).where(
            organizer_sources.c.source == source, organizer_sources.c.ref.in_(refs)
        )
    )
    values = [
        {
            "source": source,
            "ref": each.ref,
            "version": each.version,
            "hash": each.hash,
            "run_id": run,
            "at": now,
        }
        for each in some
    ]
    await db.run_many(_MARK, values)


async def extracted_before(db: Database, scanned: ScannedText) -> set[tuple[str, str]]:
    """Return the keys of all facts extracted from a text so far, including removed facts."""
    keys: set[tuple[str, str]] = set()
    for table in (memories, trash):
        query = sa.select(table.c.project, table.c.observation).where(
            table.c.source == Source.EXTRACTED,
            table.c.source_ref.like(f"%, {scanned.source} {scanned.ref}"),
        )
        rows = await db.fetch_all(query)
        keys |= {(row["project"], comparison_key(row["observation"])) for row in rows}
    return keys


async def said_in_session(db: Database, session_id: int) -> set[tuple[str, str]]:
    """Return the keys of all memories of a session, including removed memories."""
    found: set[tuple[str, str]] = set()
    for table in (memories, trash):
        query = sa.select(table.c.project, table.c.observation)
        rows = await db.fetch_all(query.where(table.c.session_id == session_id))
        found |= {(row["project"], comparison_key(row["observation"])) for row in rows}
    return found


async def skip_sessions(db: Database, ids: Collection[int], *, now: datetime) -> None:
    """Mark the texts of revoked sessions as read; call it within `writing`."""
    for source, column in _OF_SESSIONS.items():
        query = _SOURCES[source][2].where(column.in_(ids))
        while rows := await db.fetch_all(query):
            await mark_read(db, [_scanned(source, row)[0] for row in rows], 0, now=now)


async def forget_run(db: Database, run: int) -> None:
    """Remove the marks of an undone run: the next run reads the same texts again."""
    await db.execute(sa.delete(organizer_sources).where(organizer_sources.c.run_id == run))


async def remove_old(db: Database, *, now: datetime) -> None:
    """Remove the marks of texts that are too old to be read again."""
    old = organizer_sources.c.at < now - 2 * SCANNED_FOR
    await db.execute(sa.delete(organizer_sources).where(old))


def _scanned(source: str, row: Any) -> tuple[ScannedText, str | None]:
    scanned = ScannedText(
        source=source,
        ref=row["id"],
        version=row["version"],
        project=row["project"],
        service=row["service"],
        text=row["text"].strip(),
        at=row["at"],
        session=row["session"],
    )
    return scanned, row["read"]
