"""Exports: all knowledge, written in pieces in the requested format."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lamplighter.domain.memory.memory import OPERATIONS, Memory
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import normalize_project
from lamplighter.formats import native_export, serialize, third_party_export
from lamplighter.formats.import_records import memory_ref
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import client_prompts, client_sessions, exports, imports

WriteText = Callable[[str], object]
OnProgress = Callable[[int, int], object]
"""A callback with the number of written memories and their total."""


class ExportFormat(StrEnum):
    """The format of an export."""

    LAMPLIGHTER = "lamplighter"
    AGENTOPS = "agentops"
    ENGRAM = "engram"


@dataclass(slots=True)
class ExportTotals:
    """The number of memories and sessions in an export."""

    memories: int = 0
    sessions: int = 0


async def export(
    db: Database,
    form: ExportFormat,
    write: WriteText,
    *,
    project: str | None = None,
    step: OnProgress = lambda done, total: None,
    now: datetime,
) -> ExportTotals:
    """Write an export of all projects or of one project, as of one moment.

    The native format contains every memory; the AgentOps and engram formats contain active
    knowledge only.
    """
    project = None if project is None else normalize_project(project)
    done = ExportTotals()
    async with reading(db):
        work = _Export(db, form, write, project, step, done)
        await (work.lines(now=now) if form is ExportFormat.LAMPLIGHTER else work.document(now=now))
    return done


@dataclass(slots=True)
class _Export:
    db: Database
    form: ExportFormat
    write: WriteText
    project: str | None
    step: OnProgress
    done: ExportTotals

    async def lines(self, *, now: datetime) -> None:
        self.write(native_export.header(now=now, project=self.project))
        async for sessions in exports.client_sessions(self.db, project=self.project):
            self.done.sessions += len(sessions)
            for session in sessions:
                asked = await client_prompts.of_session(self.db, session.id)
                self.write(native_export.session_line(session, asked))
        async for each in self._memories(active=False):
            self.write(native_export.memory_line(*each))

    async def document(self, *, now: datetime) -> None:
        engram = self.form is ExportFormat.ENGRAM
        row = third_party_export.synced_row if engram else third_party_export.observation_row
        version = {"version": third_party_export.VERSION} if engram else {}
        head = json.dumps({**version, "exported_at": serialize.format_moment(now)})
        self.write(f"{head[:-1]},\n")
        await self._list("sessions", self._sessions(now=now))
        self.write(",\n")
        await self._list("observations", (row(*each) async for each in self._memories(active=True)))
        if engram:
            self.write(",\n")
            await self._list("prompts", self._prompts())
        self.write("}\n")

    async def _sessions(self, *, now: datetime) -> AsyncIterator[Mapping[str, Any]]:
        yield third_party_export.placeholder_session(self.project or OPERATIONS, now=now)
        async for sessions in exports.client_sessions(self.db, project=self.project):
            self.done.sessions += len(sessions)
            for session in sessions:
                yield third_party_export.session_row(session)

    async def _prompts(self) -> AsyncIterator[Mapping[str, Any]]:
        number = 0
        async for session, content, at in self._client_prompts():
            number += 1
            yield third_party_export.prompt_row(number, session, content, at)

    async def _client_prompts(self) -> AsyncIterator[tuple[Session, str, datetime]]:
        async for sessions in exports.client_sessions(self.db, project=self.project):
            for session in sessions:
                asked = await client_prompts.of_session(self.db, session.id)
                if session.prompt and session.prompt not in [each.content for each in asked]:
                    yield session, session.prompt, session.started_at
                for each in asked:
                    yield session, each.content, each.created_at

    async def _memories(self, *, active: bool) -> AsyncIterator[tuple[Memory, str | None, str]]:
        total = await exports.count(self.db, project=self.project, active=active)
        async for batch in exports.all_memories(self.db, project=self.project, active=active):
            ids = {each.session_id for each in batch if each.session_id is not None}
            names = await client_sessions.external_ids(self.db, sorted(ids))
            refs = await imports.refs_of(self.db, [each.id for each in batch])
            for memory in batch:
                yield (
                    memory,
                    names.get(memory.session_id or 0),
                    refs.get(memory.id, memory_ref(memory)),
                )
            self.done.memories += len(batch)
            self.step(self.done.memories, total)

    async def _list(self, name: str, rows: AsyncIterator[Mapping[str, Any]]) -> None:
        self.write(f'"{name}": [')
        before = "\n"
        async for row in rows:
            self.write(before + json.dumps(row, ensure_ascii=False, separators=(",", ":")))
            before = ",\n"
        self.write("]")
