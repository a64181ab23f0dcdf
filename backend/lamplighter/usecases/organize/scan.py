"""The scan of sessions, events and incidents: facts in them become memories, once."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lamplighter.domain.memory.memory import new_memory
from lamplighter.domain.organize.plan import KnownFacts, PlannedFact
from lamplighter.domain.organize.run import OrganizerRun
from lamplighter.domain.organize.scan import (
    TRANSCRIPT,
    ScannedText,
    fact_candidate,
    plan_scanned,
    scan_intents,
)
from lamplighter.domain.text import comparison_key
from lamplighter.repository import writing
from lamplighter.repository.organize import runs, sources
from lamplighter.repository.writes import store
from lamplighter.usecases.context import Context


@dataclass(slots=True)
class SourceScan:
    """The scan of a run; without a run it is a dry run, which writes nothing."""

    here: Context
    facts: KnownFacts
    present: set[tuple[str, str]]
    run: OrganizerRun | None
    show: Callable[[str, str], None]
    silent: frozenset[str] = frozenset()
    counts: Counter[str] = field(default_factory=Counter)
    sessions: set[int] = field(default_factory=set)
    """The sessions of the transcripts scanned up to now."""

    async def scan(self, progress: Callable[[str, int, int], None]) -> None:
        """Read new and changed texts, in short writes."""
        db, now = self.here.db, self.here.now()
        total = await sources.count_unread(db, silent=self.silent, now=now)
        async for some in sources.unread(db, silent=self.silent, now=now):
            idle = []
            for scanned, read in some:
                if read is not None and read != scanned.hash:
                    self.present |= await sources.extracted_before(self.here.db, scanned)
                if scanned.source == TRANSCRIPT:
                    await self._add_prompts(scanned)
                planned = [] if read == scanned.hash else self._plan(scanned)
                if planned:
                    await self._keep(scanned, planned)
                else:
                    idle.append(scanned)
            await self._mark(idle)
            self.counts["scanned"] += len(some)
            progress("scan", self.counts["scanned"], max(total, self.counts["scanned"]))
        if self.run is not None:
            async with writing(db):
                await sources.remove_old(db, now=self.here.now())

    async def _add_prompts(self, scanned: ScannedText) -> None:
        """Leave out facts of a transcript that its hooks captured already, also removed ones."""
        if scanned.session is not None and scanned.session not in self.sessions:
            self.sessions.add(scanned.session)
            self.present |= await sources.said_in_session(self.here.db, scanned.session)

    def _plan(self, scanned: ScannedText) -> list[PlannedFact]:
        return plan_scanned(scanned, self.facts, self.present)

    async def _keep(self, scanned: ScannedText, planned: list[PlannedFact]) -> None:
        """Store the facts of a text one by one: each is compared with those before it."""
        if self.run is None:
            while planned:
                self._preview(scanned, planned[0])
                planned = self._plan(scanned)
            return
        assert self.run.act_id is not None
        db, now, added = self.here.db, self.here.now(), Counter(scanned=1)
        async with writing(db):
            while planned:
                for intents in scan_intents(
                    scanned, planned[:1], act_id=self.run.act_id, run=self.run.id
                ):
                    for memory in await store(db, intents, now=now):
                        if memory.active:
                            self.facts.add(memory)
                        else:
                            self.facts.add_waiting([memory])
                added.update(self._count(scanned, planned[0]))
                planned = self._plan(scanned)
            await sources.mark_read(db, [scanned], self.run.id, now=now)
            self.run = await runs.record(db, self.run, added, now=now)

    def _preview(self, scanned: ScannedText, fact: PlannedFact) -> None:
        self.counts.update(self._count(scanned, fact))
        self.show("conflicts" if fact.contradicts else "facts", fact.fact.text)
        if not fact.contradicts:
            self.facts.add(new_memory(fact_candidate(scanned, fact.fact, 0), now=self.here.now()))

    def _count(self, scanned: ScannedText, fact: PlannedFact) -> Counter[str]:
        self.present.add((scanned.project, comparison_key(fact.fact.text)))
        what = "facts" if fact.existing is None else "conflicts"
        return Counter({"scanned_facts": 1, what: 1})

    async def _mark(self, idle: list[ScannedText]) -> None:
        if self.run is None or not idle:
            return
        db, now = self.here.db, self.here.now()
        async with writing(db):
            await sources.mark_read(db, idle, self.run.id, now=now)
            self.run = await runs.record(db, self.run, Counter(scanned=len(idle)), now=now)
