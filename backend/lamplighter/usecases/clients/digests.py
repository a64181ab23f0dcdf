"""Digests of interactive sessions, from their prompts, tool events and decisions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final

from lamplighter.domain.clients.activity import ActivityKind, ActivityReport, read_activity
from lamplighter.domain.clients.digest import MAX_DIGESTS, SessionDigest, open_question
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.clients import interactive_sessions, session_activity
from lamplighter.usecases.context import Context

MAX_SCANNED: Final = 10
"""The number of newest sessions to read to find three digests that are not empty."""

_TASKS: Final = (ActivityKind.TASK, ActivityKind.TODO)


async def record_tool_event(
    here: Context,
    session: Session,
    tool: str,
    arguments: Mapping[str, Any],
    response: Mapping[str, Any],
) -> None:
    """Record which file a tool changed and which tasks it listed, with secrets masked."""
    activities = read_activity(tool, arguments, response)
    if not activities:
        return
    async with writing(here.db):
        if activities[0].kind is ActivityKind.TODO:
            await session_activity.delete_kind(here.db, session.id, ActivityKind.TODO)
        for each in activities:
            clean = replace(each, key=here.redact(each.key), text=here.redact(each.text))
            await session_activity.record(here.db, session.id, clean, now=here.now())


async def note_subagent(here: Context, session: Session, agent_id: str) -> bool:
    """Record that a subagent received the digests; return whether this was the first time."""
    name = here.redact(one_line(agent_id))[:100] or "unknown"
    async with writing(here.db):
        if await session_activity.has(here.db, session.id, ActivityKind.SUBAGENT, name):
            return False
        report = ActivityReport(ActivityKind.SUBAGENT, name, name, done=True)
        await session_activity.record(here.db, session.id, report, now=here.now())
        return True


async def last_digests(
    db: Database, project: str, *, session: Session | None = None, current: bool = False
) -> list[SessionDigest]:
    """Return the digests of the last sessions of a project, newest first, at most three.

    `session` is the reader; with `current`, after a compaction, its own digest comes first.
    """
    async with reading(db):
        without = session.id if session else None
        found = await session_activity.latest_sessions(
            db, project, without=without, limit=MAX_SCANNED
        )
        chosen = [session, *found] if session and current else found
        digests = await _digests(db, chosen)
    own = session.id if session else None
    marked = [replace(each, current=each.session_id == own) for each in digests]
    return [each for each in marked if not each.empty][:MAX_DIGESTS]


async def _digests(db: Database, chosen: list[Session]) -> list[SessionDigest]:
    ids = [each.id for each in chosen]
    activity = await session_activity.of_sessions(db, ids)
    decisions = await session_activity.decisions_of(db, ids)
    digests = []
    for session in chosen:
        own = [each for each in activity if each.session_id == session.id]
        prompts = await interactive_sessions.prompt_beginnings(db, session.id)
        tasks = [each.text for each in reversed(own) if each.kind in _TASKS and not each.done]
        question = open_question(session.response)
        digests.append(
            SessionDigest(
                session_id=session.id,
                started_at=session.started_at,
                task=next((one_line(each) for each in prompts if not each.startswith("/")), ""),
                files=[
                    _relative(each.text, session.directory)
                    for each in own
                    if each.kind is ActivityKind.FILE
                ],
                decisions=[words for number, words in decisions if number == session.id],
                open_ends=[*tasks, *([question] if question else [])],
            )
        )
    return digests


def _relative(path: str, directory: str | None) -> str:
    """Return a path relative to the directory of its session if it is below that directory."""
    place = PurePath(path)
    below = directory is not None and place.is_relative_to(directory)
    return str(place.relative_to(directory)) if below and directory else path
