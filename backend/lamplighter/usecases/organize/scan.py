"""The organizer reads sessions, events and incidents: facts in them become memories, once."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lamplighter.domain.memory.memory import new_memory
from lamplighter.domain.organize.plan import KnownFacts, PlannedFact
from lamplighter.domain.organize.run import OrganizerRun
from lamplighter.domain.organize.scan import (
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
    counts: Counter[str] = field(default_factory=Counter)

    async def scan(self, progress: Callable[[str, int, int], None]) -> None:
        """Read what is new or has changed, in short writes."""
        async for some in sources.unread(self.here.db, now=self.here.now()):
            idle = []
            for scanned, as_before in some:
                planned = [] if as_before else self._plan(scanned)
                if planned:
                    await self._keep(scanned, planned)
                else:
                    idle.append(scanned)
            await self._mark(idle)
            self.counts["scanned"] += len(some)
            progress("scan", self.counts["scanned"], self.counts["scanned"])
        if self.run is not None:
            async with writing(self.here.db):
                await sources.remove_old(self.here.db, now=self.here.now())

    def _plan(self, scanned: ScannedText) -> list[PlannedFact]:
        return plan_scanned(scanned, self.facts, self.present)

    async def _keep(self, scanned: ScannedText, planned: list[PlannedFact]) -> None:
        added = Counter(
            scanned_facts=len(planned),
            facts=sum(each.existing is None for each in planned),
            conflicts=sum(each.existing is not None for each in planned),
        )
        self.present |= {(scanned.project, comparison_key(each.fact.text)) for each in planned}
        db, now = self.here.db, self.here.now()
        if self.run is None:
            self.counts += added
            for each in planned:
                self.show("conflicts" if each.contradicts else "facts", each.fact.text)
                candidate = fact_candidate(scanned, each.fact, 0)
                self.facts.add(new_memory(candidate, now=now))
            return
        assert self.run.act_id is not None
        async with writing(db):
            for intents in scan_intents(scanned, planned, act_id=self.run.act_id, run=self.run.id):
                for memory in await store(db, intents, now=now):
                    if memory.active:
                        self.facts.add(memory)
            await sources.mark_read(db, [scanned], self.run.id, now=now)
            added["scanned"] = 1
            self.run = await runs.record(db, self.run, added, now=now)

    async def _mark(self, idle: list[ScannedText]) -> None:
        if self.run is None or not idle:
            return
        db, now = self.here.db, self.here.now()
        async with writing(db):
            await sources.mark_read(db, idle, self.run.id, now=now)
            self.run = await runs.record(db, self.run, Counter(scanned=len(idle)), now=now)
