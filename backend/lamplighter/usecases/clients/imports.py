"""Imports: records of other systems and homes become memories, each once, even if repeated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.clients.client_prompt import admit_prompt
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.admit import Redact, admit_candidate
from lamplighter.domain.memory.intents import ChangeOrigin, MemoryChange
from lamplighter.domain.memory.memory import OPERATIONAL, Memory, MemoryId
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import content_hash, normalize_project, one_line
from lamplighter.formats.import_records import (
    ImportRecord,
    MemoryRecord,
    PromptRecord,
    SessionRecord,
)
from lamplighter.repository import Database, reading
from lamplighter.repository.access import journal
from lamplighter.repository.clients import client_prompts, client_sessions, imports
from lamplighter.repository.memory import history, knowledge, memories, reviews
from lamplighter.repository.memory.bulk import publish
from lamplighter.repository.upkeep.batches import in_batches
from lamplighter.usecases.access.recording import OPERATOR, recorded, unfinished
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.journal import IMPORT, IMPORTED
from lamplighter.usecases.memory.knowledge import REVISED

FIRST: Final = 100
MOST: Final = 1_000_000_000
"""The highest ID that an imported memory keeps; larger IDs cannot be consecutive numbers."""


class ImportOutcome(StrEnum):
    """The outcome of a record."""

    CREATED = "created"
    REVISED = "revised"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    SESSION = "session"
    PROMPT = "prompt"
    KNOWN = "known"
    """A session or a prompt that existed already."""


CHANGES: Final = (
    ImportOutcome.CREATED,
    ImportOutcome.REVISED,
    ImportOutcome.SESSION,
    ImportOutcome.PROMPT,
)
"""The outcomes of records that changed a row."""


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record and its position in the import."""

    place: str
    record: ImportRecord


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem of a record, and its position."""

    place: str
    message: str


@dataclass(slots=True)
class Importing:
    """An import in progress; with `dry` it writes nothing and counts the changes it would make.

    `matched` are the memories that a record of this import has matched already: two records with
    the same text are two memories. `act` is its act in the journal, and `stored` are the outcomes
    of stored items: both include completed writes only, also if a later one fails.
    """

    db: Database
    redact: Redact
    now: datetime
    origin: str = "an export"
    by: str = OPERATOR
    dry: bool = False
    act: int | None = None
    stored: dict[ImportOutcome, int] = field(default_factory=dict)
    matched: set[int] = field(default_factory=set)
    counts: dict[ImportOutcome, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    _writing: int | None = None
    _sessions: dict[str, int | None] = field(default_factory=dict)
    _steps: list[MemoryChange] = field(default_factory=list)
    _changed: dict[ChangeOp, list[int]] = field(default_factory=dict)
    _imported: dict[str, tuple[MemoryId, str]] = field(default_factory=dict)
    _last: int | None = 0
    _there: frozenset[str] = frozenset()
    _came: dict[str, tuple[MemoryId, str]] = field(default_factory=dict)
    _prompts_seen: dict[int, set[tuple[str, datetime]]] = field(default_factory=dict)
    _same: Mapping[tuple[str, str], Sequence[MemoryId]] = field(default_factory=dict)

    async def take(self, placed: Sequence[LocatedRecord]) -> None:
        """Import records in short writes; problems with a record are added to the faults.

        Raises Conflict if a person undoes the import meanwhile: the other records stay out.
        """
        if self.dry:
            async with reading(self.db):
                await self._some(list(self._admitted(placed)))
            return
        ready: list[LocatedRecord] = []

        def prepare(numbers: Sequence[int]) -> None:
            self._note_stored()
            ready[:] = self._admitted([placed[number] for number in numbers])

        async def work(numbers: Sequence[int]) -> list[int]:
            if self._writing is not None:
                await journal.expect_not_undone(self.db, self._writing)
            if self._last != await imports.highest_id(self.db):
                self._last = None
            await self._some(ready)
            if self._last:
                await imports.advance_sequence(self.db)
            for op, ids in self._changed.items():
                await publish(self.db, ids, op, now=self.now)
            again = self._came.keys() & self._there
            await imports.record(self.db, self._came, existing=again, now=self.now)
            await history.append_all(self.db, self._steps, now=self.now)
            self._steps.clear()
            self._changed.clear()
            self._came.clear()
            await self._finish()
            return []

        self.db.bringing += 1
        try:
            await in_batches(self.db, range(len(placed)), work, first=FIRST, prepare=prepare)
        finally:
            self.db.bringing -= 1
        self._note_stored()
        recorded.set(self.act)
        unfinished.set(None)

    @property
    def changed(self) -> int:
        """The number of rows that the import has changed."""
        return sum(self.counts.get(each, 0) for each in CHANGES)

    async def _finish(self) -> None:
        """Store how many rows the act has changed."""
        if self.changed:
            await journal.finish(self.db, await self._act(), self.changed)

    async def _act(self) -> int:
        """Return the number of the act; it is recorded with the first change."""
        if self._writing is None:
            self._writing = await journal.insert(
                self.db, IMPORT, now=self.now, subject=self.origin, actor=self.by
            )
        return self._writing

    def _note_stored(self) -> None:
        """Note the act and the outcomes of the completed writes."""
        self.act, self.stored = self._writing, dict(self.counts)
        unfinished.set(self.act)

    async def _some(self, some: Sequence[LocatedRecord]) -> None:
        records = [each.record for each in some if isinstance(each.record, MemoryRecord)]
        self._imported = await imports.find_imported(self.db, [each.ref for each in records])
        self._there, self._prompts_seen = frozenset(self._imported), {}
        hashes = {content_hash(each.candidate.observation) for each in records}
        self._same = await imports.by_content_hash(self.db, hashes) if hashes else {}
        for each in some:
            try:
                became = await self._one(each)
            except Invalid as error:
                self.faults.append(Fault(each.place, str(error)))
                continue
            self._count(became)

    def _count(self, outcome: ImportOutcome) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    def _admitted(self, placed: Sequence[LocatedRecord]) -> Iterator[LocatedRecord]:
        """Yield the admissible records with masked text; add a fault for each of the others."""
        for each in placed:
            record = each.record
            try:
                if isinstance(record, MemoryRecord):
                    record = record.admitted(admit_candidate(record.candidate, self.redact))
                yield LocatedRecord(each.place, record)
            except Invalid as error:
                self.faults.append(Fault(each.place, str(error)))

    async def _one(self, placed: LocatedRecord) -> ImportOutcome:
        match placed.record:
            case SessionRecord() as record:
                became, session = await self._session(record)
                for prompt in record.prompts:
                    self._count(await self._prompt(prompt, session))
                return became
            case PromptRecord() as record:
                name = one_line(record.session)
                return await self._prompt(
                    record, await client_sessions.by_external_id(self.db, name)
                )
            case MemoryRecord() as record:
                became, memory = await self._memory(record, placed.place)
                if memory is not None:
                    self.matched.add(memory)
                return became

    async def _memory(
        self, record: MemoryRecord, place: str
    ) -> tuple[ImportOutcome, MemoryId | None]:
        imported = self._imported.get(record.ref)
        if imported is not None and imported[1] == record.fingerprint:
            return ImportOutcome.UNCHANGED, imported[0]
        own = None if imported is not None else await self._own(record)
        held = own or await self._existing(record, imported)
        if held is not None:
            became = await self._revise(held, record, place, again=imported is not None)
            if own is None:  # a memory with its own ID is found without a note
                self._note(record, held.id)
            return became, held.id
        if record.deleted:
            return ImportOutcome.SKIPPED, None
        same = self._same_words(record)
        if same is not None:
            self._note(record, same)
            return ImportOutcome.UNCHANGED, same
        return ImportOutcome.CREATED, await self._create(record, place)

    async def _own(self, record: MemoryRecord) -> Memory | None:
        """Return the memory that a native record was exported from."""
        if record.native is None:
            return None
        own = await imports.find_native(self.db, *record.native)
        if own is None or own.id in self.matched:
            return None
        return own if record.whole is not None or own.category not in OPERATIONAL else None

    async def _existing(
        self, record: MemoryRecord, imported: tuple[MemoryId, str] | None
    ) -> Memory | None:
        """Return the memory that a record is a version of: by its reference or topic key."""
        if imported is not None:
            return await memories.get(self.db, imported[0])
        said = record.candidate
        aside = record.deleted or (record.whole is not None and not record.whole.active)
        holder = None if aside else await knowledge.topic_key_holder(self.db, said)
        return None if holder is None else await memories.get(self.db, holder)

    def _same_words(self, record: MemoryRecord) -> MemoryId | None:
        if record.whole is not None and not record.whole.active:
            return None
        said = record.candidate
        same = self._same.get((content_hash(said.observation), said.project), ())
        return next((number for number in same if number not in self.matched), None)

    async def _revise(
        self, existing: Memory, record: MemoryRecord, place: str, *, again: bool
    ) -> ImportOutcome:
        """Update an existing memory, unless it was withdrawn here or changed since the export."""
        changed = record.revised(existing, now=self.now)
        stays = not existing.active and record.whole is None
        if (
            changed == existing
            or stays
            or record.deleted
            or (not again and record.behind(existing))
        ):
            return ImportOutcome.UNCHANGED
        await curate.check_key(self.db, existing, changed)
        if not self.dry:
            await memories.update(self.db, changed, now=self.now)
            await reviews.count_rewording(self.db, existing, changed, by=None, now=self.now)
            self._steps.append(MemoryChange(existing, changed, await self._why(REVISED, place)))
        return ImportOutcome.REVISED

    async def _create(self, record: MemoryRecord, place: str) -> MemoryId | None:
        session_id = await self._session_of(record)
        if self.dry:
            return None
        number = await self._number(record.number)
        made = record.memory(session_id, now=self.now)
        memory = await imports.insert(self.db, made, number=number)
        self._steps.append(MemoryChange(None, memory, await self._why(IMPORTED, place)))
        self._note(record, memory.id)
        self._changed.setdefault(ChangeOp.CREATED, []).append(memory.id)
        return memory.id

    async def _number(self, there: int) -> int | None:
        """Return the original ID of a memory if the memory may keep it.

        That is the case in a home that had only imported memories, while each ID is above the last.
        """
        if self._last is None:
            return None
        if self._last < there <= MOST:
            self._last = there
            return there
        if self._last:
            await imports.advance_sequence(self.db)
        self._last = None
        return None

    def _note(self, record: MemoryRecord, memory_id: MemoryId) -> None:
        self._imported[record.ref] = self._came[record.ref] = (memory_id, record.fingerprint)

    async def _session(self, record: SessionRecord) -> tuple[ImportOutcome, Session | None]:
        name = one_line(record.external_id)
        session = await self._named(name, record)
        if session is not None:
            return ImportOutcome.KNOWN, session
        if not self.dry:
            new_record = replace(
                record,
                external_id=name,
                project=normalize_project(record.project),
                directory=record.directory and self.redact(record.directory),
                summary=self.redact(record.summary),
                prompt=self.redact(record.prompt),
            )
            session = await imports.insert_session(self.db, new_record, now=self.now)
            self._sessions[name] = session.id
        return ImportOutcome.SESSION, session

    async def _named(self, name: str, record: SessionRecord) -> Session | None:
        """Return the session of a record; agents may use session IDs that others use too."""
        if record.owned:
            return await client_sessions.by_agent(self.db, name, record.agent)
        return await client_sessions.by_external_id(self.db, name)

    async def _prompt(self, record: PromptRecord, session: Session | None) -> ImportOutcome:
        if session is None:
            return ImportOutcome.KNOWN
        text = admit_prompt(record.content, self.redact)
        if session.id not in self._prompts_seen:
            self._prompts_seen[session.id] = await client_prompts.all_of_session(
                self.db, session.id
            )
        prompts, at = self._prompts_seen[session.id], record.created_at
        if text == session.prompt or (text, at) in prompts:
            return ImportOutcome.KNOWN
        if at is None and any(text == content for content, _ in prompts):
            return ImportOutcome.KNOWN
        at = at or self.now
        prompts.add((text, at))
        if not self.dry:
            await client_prompts.insert(self.db, session.id, session.project, text, now=at)
        return ImportOutcome.PROMPT

    async def _session_of(self, record: MemoryRecord) -> int | None:
        """Return the ID of a record's session; create a session that is missing from the import."""
        name = one_line(record.session or "")
        if not name:
            return None
        if name not in self._sessions:
            session = await client_sessions.by_external_id(self.db, name)
            if session is None and not self.dry:
                new_record = SessionRecord(
                    external_id=name,
                    project=record.candidate.project,
                    started_at=record.created_at,
                    ended_at=record.created_at or self.now,
                )
                session = await imports.insert_session(self.db, new_record, now=self.now)
            self._sessions[name] = None if session is None else session.id
        return self._sessions[name]

    async def _why(self, cause: str, place: str) -> ChangeOrigin:
        reason = f"from {self.origin}, {place}"
        return ChangeOrigin(cause=cause, actor=OPERATOR, reason=reason, act_id=await self._act())
