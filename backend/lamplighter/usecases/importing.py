"""Import: records of elsewhere become memories, each once, however often they come."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.admit import Redact, admitted
from lamplighter.domain.agent import project_of
from lamplighter.domain.change import Op
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory import OPERATIONAL, Memory, MemoryId
from lamplighter.domain.prompt import admitted_prompt
from lamplighter.domain.records import AnyRecord, PromptRecord, Record, SessionRecord
from lamplighter.domain.text import content_hash, one_line
from lamplighter.repository import (
    Database,
    client_prompts,
    client_sessions,
    history,
    imports,
    memories,
    reading,
    topic_keys,
)
from lamplighter.repository.batches import in_batches
from lamplighter.repository.many import tell
from lamplighter.usecases import curate
from lamplighter.usecases.curate import OPERATOR
from lamplighter.usecases.knowledge import REVISED

IMPORTED: Final = "imported"
FIRST: Final = 100


class Became(StrEnum):
    """What became of a record."""

    CREATED = "created"
    REVISED = "revised"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    SESSION = "session"
    PROMPT = "prompt"
    KNOWN = "known"
    """A session or a prompt that was there already."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A record, and where it stands in what is imported."""

    place: str
    record: AnyRecord


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a record, and where that stands."""

    place: str
    words: str


@dataclass(slots=True)
class Importing:
    """One import at work; with `dry` it writes nothing and counts what it would.

    `taken` are the memories that a record of this import stands for already: two
    records of the same words are two memories.
    """

    db: Database
    redact: Redact
    now: datetime
    origin: str = "an export"
    dry: bool = False
    taken: set[int] = field(default_factory=set)
    counts: dict[Became, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    _sessions: dict[str, int | None] = field(default_factory=dict)
    _told: dict[Op, list[int]] = field(default_factory=dict)
    _known: dict[str, tuple[MemoryId, str]] = field(default_factory=dict)
    _there: frozenset[str] = frozenset()
    _came: dict[str, tuple[MemoryId, str]] = field(default_factory=dict)
    _asked: dict[int, set[str]] = field(default_factory=dict)
    _same: Mapping[tuple[str, str], Sequence[MemoryId]] = field(default_factory=dict)

    async def take(self, placed: Sequence[Placed]) -> None:
        """Take some records in, in short writes; what is wrong with one is among the faults."""
        if self.dry:
            async with reading(self.db):
                await self._some(placed)
            return

        async def work(numbers: Sequence[int]) -> list[int]:
            await self._some([placed[number] for number in numbers])
            for op, ids in self._told.items():
                await tell(self.db, ids, op, now=self.now)
            again = self._came.keys() & self._there
            await imports.note(self.db, self._came, known=again, now=self.now)
            self._told.clear()
            self._came.clear()
            return []

        await in_batches(self.db, range(len(placed)), work, first=FIRST)

    async def _some(self, placed: Sequence[Placed]) -> None:
        some = list(self._admitted(placed))
        records = [each.record for each in some if isinstance(each.record, Record)]
        self._known = await imports.known(self.db, [each.ref for each in records])
        self._there, self._asked = frozenset(self._known), {}
        hashes = {content_hash(each.candidate.observation) for each in records}
        self._same = await imports.by_words(self.db, hashes) if hashes else {}
        for each in some:
            try:
                became = await self._one(each)
            except Invalid as error:
                self.faults.append(Fault(each.place, str(error)))
                continue
            self._count(became)

    def _count(self, became: Became) -> None:
        self.counts[became] = self.counts.get(became, 0) + 1

    def _admitted(self, placed: Sequence[Placed]) -> Iterator[Placed]:
        """Give the records that may be kept, in the words that may."""
        for each in placed:
            record = each.record
            try:
                if isinstance(record, Record):
                    record = record.admitted(admitted(record.candidate, self.redact))
                yield Placed(each.place, record)
            except Invalid as error:
                self.faults.append(Fault(each.place, str(error)))

    async def _one(self, placed: Placed) -> Became:
        match placed.record:
            case SessionRecord() as record:
                became = await self._session(record)
                for prompt in record.prompts:
                    self._count(await self._prompt(prompt))
                return became
            case PromptRecord() as record:
                return await self._prompt(record)
            case Record() as record:
                became, memory = await self._memory(record, placed.place)
                if memory is not None:
                    self.taken.add(memory)
                return became

    async def _memory(self, record: Record, place: str) -> tuple[Became, MemoryId | None]:
        known = self._known.get(record.ref)
        if known is not None and known[1] == record.said:
            return Became.UNCHANGED, known[0]
        own = None if known is not None else await self._own(record)
        held = own or await self._held(record, known)
        if held is not None:
            became = await self._revise(held, record, place, again=known is not None)
            if own is None:  # by its own number a memory is found again anyway
                self._note(record, held.id)
            return became, held.id
        if record.deleted:
            return Became.SKIPPED, None
        same = self._same_words(record)
        if same is not None:
            self._note(record, same)
            return Became.UNCHANGED, same
        return Became.CREATED, await self._create(record, place)

    async def _own(self, record: Record) -> Memory | None:
        """Return the memory that a record is an export of."""
        if record.native is None:
            return None
        own = await imports.native(self.db, *record.native)
        if own is None or own.id in self.taken:
            return None
        return own if record.whole is not None or own.category not in OPERATIONAL else None

    async def _held(self, record: Record, known: tuple[MemoryId, str] | None) -> Memory | None:
        """Return the memory that a record is a form of: by where it comes from, or its key."""
        if known is not None:
            return await memories.get(self.db, known[0])
        said = record.candidate
        aside = record.deleted or (record.whole is not None and not record.whole.active)
        if said.topic_key is None or aside:
            return None
        holder = await topic_keys.holder(
            self.db, said.topic_key, project=said.project, scope=said.scope
        )
        return None if holder is None else await memories.get(self.db, holder)

    def _same_words(self, record: Record) -> MemoryId | None:
        memory = record.memory(None, now=self.now)
        same = self._same.get((memory.content_hash, memory.project), ()) if memory.active else ()
        return next((number for number in same if number not in self.taken), None)

    async def _revise(self, held: Memory, record: Record, place: str, *, again: bool) -> Became:
        """Revise what is held, unless it was taken back here, or has moved on since."""
        changed = record.revised(held, now=self.now)
        stays = not held.active and record.whole is None
        if changed == held or stays or record.deleted or (not again and record.behind(held)):
            return Became.UNCHANGED
        await curate.check_key(self.db, held, changed)
        if not self.dry:
            await memories.update(self.db, changed, now=self.now)
            await history.append(self.db, held, changed, self._why(REVISED, place), now=self.now)
        return Became.REVISED

    async def _create(self, record: Record, place: str) -> MemoryId | None:
        session_id = await self._session_of(record)
        if self.dry:
            return None
        memory = await imports.insert(self.db, record.memory(session_id, now=self.now))
        await history.append(self.db, None, memory, self._why(IMPORTED, place), now=self.now)
        self._note(record, memory.id)
        self._told.setdefault(Op.CREATED, []).append(memory.id)
        return memory.id

    def _note(self, record: Record, memory_id: MemoryId) -> None:
        self._known[record.ref] = self._came[record.ref] = (memory_id, record.said)

    async def _session(self, record: SessionRecord) -> Became:
        name = one_line(record.external_id)
        if await client_sessions.of(self.db, name) is not None:
            return Became.KNOWN
        if not self.dry:
            wanted = replace(
                record,
                external_id=name,
                project=project_of(record.project),
                directory=record.directory and self.redact(record.directory),
                summary=self.redact(record.summary),
                prompt=self.redact(record.prompt),
            )
            made = await imports.insert_session(self.db, wanted, now=self.now)
            self._sessions[name] = made.id
        return Became.SESSION

    async def _prompt(self, record: PromptRecord) -> Became:
        held = await client_sessions.of(self.db, one_line(record.session))
        if held is None:
            return Became.KNOWN
        said = admitted_prompt(record.content, self.redact)
        if held.id not in self._asked:
            asked = {each.content for each in await client_prompts.of(self.db, held.id)}
            self._asked[held.id] = {held.prompt, *asked}
        if said in self._asked[held.id]:
            return Became.KNOWN
        self._asked[held.id].add(said)
        if not self.dry:
            at = record.created_at or self.now
            await client_prompts.insert(self.db, held.id, held.project, said, now=at)
        return Became.PROMPT

    async def _session_of(self, record: Record) -> int | None:
        """Return the number of a record's session; one that nothing tells of is made."""
        name = one_line(record.session or "")
        if not name:
            return None
        if name not in self._sessions:
            held = await client_sessions.of(self.db, name)
            if held is None and not self.dry:
                wanted = SessionRecord(
                    external_id=name,
                    project=record.candidate.project,
                    started_at=record.created_at,
                )
                held = await imports.insert_session(self.db, wanted, now=self.now)
            self._sessions[name] = None if held is None else held.id
        return self._sessions[name]

    def _why(self, cause: str, place: str) -> history.Why:
        return history.Why(cause=cause, actor=OPERATOR, reason=f"from {self.origin}, {place}")
