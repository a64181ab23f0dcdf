"""New lines of changed pages become memories, a few in each write."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.intents import NewMemory
from lamplighter.domain.memory.memory import Candidate
from lamplighter.domain.notebook.compare import ChangedPage, LineAdded, NotebookReading
from lamplighter.domain.notebook.page import NotebookPage, PageLine, PageText
from lamplighter.domain.notebook.place import INDEX, candidate_of, place_from
from lamplighter.domain.text import shorten
from lamplighter.formats import notebook as markdown
from lamplighter.notebook.tree import PageFile
from lamplighter.repository.access import journal
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.notebook import pages
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.repository.upkeep.batches import in_batches
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import Recording, unfinished
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.following import take_step

ADDED_AT_ONCE: Final = 50
LEARNED_CHARS: Final = 60


@dataclass(slots=True)
class Admission:
    """The admitted new lines of pages: masking their secrets takes longer than a write may."""

    here: NotebookContext
    _admitted: dict[tuple[str, PageLine], Candidate] = field(default_factory=dict)

    def prepare(self, read: Sequence[ChangedPage]) -> None:
        """Admit the new lines of pages before the database is locked."""
        for page in read:
            if page.file is not None and place_from(page.path, page.file.name) is not None:
                for line in page.file.lines:
                    if line.number is None:
                        with suppress(Invalid):
                            self.admit(page.path, page.file.name, line)

    def admit(self, path: str, name: str, line: PageLine) -> Candidate | None:
        """Return the candidate of a new line, None without a known tag; raises Invalid."""
        if (path, line) not in self._admitted:
            place = place_from(path, name)
            candidate = candidate_of(place, line) if place else None
            if candidate is None:
                return None
            self._admitted[path, line] = admit_candidate(candidate, self.here.redact)
        return self._admitted[path, line]


@dataclass(slots=True)
class PageStorage:
    """Pages whose edits are being stored.

    While new lines of a page are missing, its stored text lacks them, and its file counts as
    changed: if the process ends there, the next run stores the missing lines.
    """

    here: NotebookContext
    files: Mapping[str, PageFile | None]
    stored: Mapping[str, StoredPage]
    comparison: NotebookReading
    admission: Admission
    act: Recording
    result: SyncResult
    _numbered: dict[tuple[str, int], PageLine] = field(default_factory=dict)
    _missing: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @property
    def added(self) -> list[LineAdded]:
        """The new lines of the pages."""
        return [each for each in self.comparison.edits if isinstance(each, LineAdded)]

    async def add_first(self) -> None:
        """Store the first new lines, within the transaction of the other edits."""
        added = self.added
        for each in added:
            self._missing[each.path].add(each.at)
        for each in added[:ADDED_AT_ONCE]:
            await self._add(each)
        await self._save(list(self.files))

    async def add_others(self) -> None:
        """Store the other new lines in short writes.

        Raises Conflict if a person undoes the act meanwhile: the remaining lines are not stored.
        """
        added, db = self.added[ADDED_AT_ONCE:], self.here.db

        async def add(some: Sequence[int]) -> list[int]:
            await journal.expect_not_undone(db, self.act.id)
            for number in some:
                await self._add(added[number])
            await self._save(list(dict.fromkeys(added[number].path for number in some)))
            await journal.finish(db, self.act.id, self.act.changed)
            return []

        unfinished.set(self.act.id)
        await in_batches(db, range(len(added)), add, first=ADDED_AT_ONCE)
        unfinished.set(None)

    async def _add(self, edit: LineAdded) -> None:
        here, name = self.here, self.comparison.pages[edit.path].name
        candidate = self.admission.admit(edit.path, name, edit.line)
        assert candidate is not None
        service = await service_name(here.db, candidate.service, here.services())
        new = NewMemory(replace(candidate, service=service), self.act.why("created"))
        [memory] = await store(here.db, [new], now=here.now())
        self._numbered[edit.path, edit.at] = replace(edit.line, number=memory.id, source="")
        self._missing[edit.path].remove(edit.at)
        self.result.learned.append(shorten(memory.observation, LEARNED_CHARS))
        self.act.did(memory.id)

    async def _save(self, paths: Sequence[str]) -> None:
        """Store the current texts of pages, with the IDs of their new lines."""
        db = self.here.db
        await pages.save(db, [self._page(path) for path in paths])
        await take_step(db, await pages.position(db))  # the pages are still pending

    def _page(self, path: str) -> StoredPage:
        file, stored = self.files[path], self.stored.get(path, StoredPage(path=path))
        if file is None:
            return replace(stored, digest="", text="", pending=True)
        if path == INDEX:
            return replace(stored, digest=file.digest, text=file.text, pending=True)
        digest = stored.digest if self._missing[path] else file.digest
        text = markdown.render(self._with_numbers(path))
        return replace(stored, digest=digest, text=text, pending=True)

    def _with_numbers(self, path: str) -> NotebookPage:
        page, missing = self.comparison.pages[path], self._missing[path]
        parts: list[PageText | PageLine] = []
        at = 0
        for part in page.parts:
            if isinstance(part, PageLine):
                if at not in missing:
                    parts.append(self._numbered.get((path, at), part))
                at += 1
            else:
                parts.append(part)
        return replace(page, parts=tuple(parts))
