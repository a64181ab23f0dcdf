"""The reading of edits: changes of files by people become edits of memories, in one act."""

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.admit import admit_edit
from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.intents import Intent, MemoryChange
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    GENERAL,
    Edit,
    Memory,
    MemoryId,
    apply_edit,
)
from lamplighter.domain.notebook.compare import (
    ChangedPage,
    LineAdded,
    LineChanged,
    LineRemoved,
    NotebookReading,
    compare,
)
from lamplighter.domain.notebook.index import INDEX_START, NOTES_HEADING, RESTORED_START
from lamplighter.domain.notebook.page import NotebookPage
from lamplighter.domain.notebook.place import INDEX
from lamplighter.domain.services.event import Level
from lamplighter.domain.text import shorten
from lamplighter.formats import notebook as markdown
from lamplighter.notebook.tree import NotebookTree, PageFile
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.notebook import lines, pages, reviews
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.repository.services import events
from lamplighter.repository.sessions import sessions
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import Recording, recorded, recording
from lamplighter.usecases.memory.curate import check_key
from lamplighter.usecases.notebook.context import ACTION, NotebookContext, SyncResult
from lamplighter.usecases.notebook.interrupted import record_written
from lamplighter.usecases.notebook.new_lines import LEARNED_CHARS, Admission, PageStorage

RESTORED: Final = "An earlier version of the page was restored."
DAMAGED: Final = "The file is empty or contains zero bytes, as after a power failure."
DURING_RUN: Final = "The file was changed while session {} was running."
INDEX_CHANGED: Final = (
    "MEMORY.md is generated. Write your own text below a heading '## Notes', or on a page."
)
UNSTORABLE: Final = "A line cannot be stored: {}."
SOURCE: Final = "notebook"
EDITING: Final = timedelta(hours=1)
"""How long an editor may have a page open without reloading it."""

LONGEST_WAIT_SECONDS: Final = 60.0
UNKNOWN_TAG: Final = "Unknown tag"


@dataclass(slots=True)
class _Changed:
    """The files that differ from their last written version, and the stored pages."""

    files: Mapping[str, PageFile | None]
    stored: Mapping[str, StoredPage]
    concerns: dict[str, str]


class _PagesRefused(Exception):
    """Lines were refused after others were stored; `reasons` names their pages."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__()
        self.reasons = reasons


async def read_edits(
    here: NotebookContext,
    *,
    accepted: Collection[str] = (),
    by_person: Collection[str] = (),
    quiet: float = 0.0,
) -> SyncResult:
    """Read the changes of the files, and store them.

    `accepted` are pages whose file a person has accepted, `by_person` those that a person saved
    through the API just now. With edits within the last `quiet` seconds nothing is read.
    """
    result = SyncResult()
    changed = await _changed_pages(here, by_person, accepted)
    if _are_being_edited(here.tree, changed.files.values(), quiet):
        return replace(result, unfinished=True)
    open_before = await reviews.open_review(here.db)
    waiting = {} if open_before is None else _waiting(open_before, changed)
    result.needs_review = waiting
    if not changed.files:
        if open_before is not None and waiting != open_before.pages:
            await _review(here, waiting, result)
        return result
    held = _read_index(changed)
    found = await _store(here, changed, accepted, result)
    result.edits = len(found.edits)
    result.for_review = {**held, **found.for_review}
    result.read = sorted(changed.files.keys() - result.for_review.keys())
    result.needs_review = needs = {**waiting, **result.for_review, **_unknown(found)}
    if needs or open_before is not None:
        await _review(here, needs, result)
    return result


async def _changed_pages(
    here: NotebookContext, by_person: Collection[str], accepted: Collection[str]
) -> _Changed:
    """Return the pages whose files were changed. A missing directory is not an edit."""
    states = await pages.states(here.db)
    digests = {path: each.digest for path, each in states.items()}
    files = await asyncio.to_thread(_files, here.tree, digests)
    if files is None:
        await _forget_files(here.db, digests)
        return _Changed({}, {}, {})
    digests |= await record_written(here, files, digests)
    unread = {path.removesuffix(".md") for path in here.tree.skipped}
    paths = [
        path
        for path in digests.keys() | files.keys()
        if path not in unread
        and (path in accepted or digests.get(path, "") != _digest(files.get(path)))
    ]
    found = {path: files.get(path) for path in sorted(paths)}
    stored = await pages.stored(here.db, paths)
    concerns = await _concerns(here.db, found, stored, by_person)
    return _Changed(found, stored, concerns)


def _files(tree: NotebookTree, digests: Mapping[str, str]) -> Mapping[str, PageFile] | None:
    """Return the pages on disk, None without a directory; complete interrupted writes first."""
    there = tree.exists()
    tree.recover(lambda path: digests.get(path, ""))
    files = tree.scan()
    return files if there else None


def _are_being_edited(tree: NotebookTree, files: Iterable[PageFile | None], quiet: float) -> bool:
    """Whether an editor saved a page a moment ago, and may have written only half a line.

    After a minute of saves the edits are read anyway.
    """
    now = time.time()
    if not any(file is not None and now - file.changed_at < quiet for file in files):
        tree.edited_since = 0.0
        return False
    tree.edited_since = tree.edited_since or now
    if now - tree.edited_since < LONGEST_WAIT_SECONDS:
        return True
    tree.edited_since = 0.0
    return False


def _digest(file: PageFile | None) -> str:
    return file.digest if file else ""


async def _forget_files(db: Database, digests: Mapping[str, str]) -> None:
    """Mark all pages as having no file, because the directory was removed, to write them again."""
    if not any(digests.values()):
        return
    async with writing(db):
        held = await pages.stored(db, list(digests))
        gone = (replace(each, digest="", pending=True) for each in held.values())
        await pages.save(db, gone)


async def _concerns(
    db: Database,
    files: Mapping[str, PageFile | None],
    stored: Mapping[str, StoredPage],
    by_person: Collection[str],
) -> dict[str, str]:
    """Return why a person must review a changed page, whatever its changes are."""
    concerns: dict[str, str] = {}
    for path, file in files.items():
        if path in by_person:
            continue
        if file is not None and path in stored and file.digest in stored[path].earlier:
            concerns[path] = RESTORED
            continue
        if file is not None and path in stored and ("\0" in file.text or not file.text.strip()):
            concerns[path] = DAMAGED
            continue
        at = datetime.fromtimestamp(file.changed_at, UTC) if file else None
        session = await sessions.session_at(db, at)
        if session is not None:
            concerns[path] = DURING_RUN.format(session)
    return concerns


def _read_index(changed: _Changed) -> dict[str, tuple[str, ...]]:
    """Return why the index needs a review, if more than its notes was changed."""
    if INDEX not in changed.files:
        return {}
    file, stored = changed.files[INDEX], changed.stored.get(INDEX)
    if file is None:
        return {}
    if file.text.startswith(RESTORED_START if stored else INDEX_START):
        return {}  # generated for other rows: the rows or the file come from a backup
    generated = ("",) if stored is None else (stored.text, stored.previous)
    head, *heads = (
        markdown.split_section(each, NOTES_HEADING)[0].split() for each in (file.text, *generated)
    )
    return {} if head in heads else {INDEX: (INDEX_CHANGED,)}


def _parse(here: NotebookContext, changed: _Changed) -> list[ChangedPage]:
    """Return the changed pages, each as last written and as in its current file."""
    return [
        ChangedPage(
            path,
            markdown.parse(changed.stored[path].text) if path in changed.stored else None,
            markdown.parse(file.text) if file else None,
            changed.concerns.get(path, ""),
            _previous(here, changed.stored.get(path), file),
        )
        for path, file in changed.files.items()
        if path != INDEX
    ]


async def _rows_on(
    here: NotebookContext, pages_read: Sequence[ChangedPage]
) -> dict[MemoryId, Memory]:
    """Return the rows named in the stored or the current version of pages.

    Call it within `writing`: a row that changes after the comparison would be overwritten.
    """
    sides = [side for each in pages_read for side in (each.written, each.file) if side]
    numbers = {line.number for side in sides for line in side.lines if line.number}
    return await memories.by_ids(here.db, [MemoryId(each) for each in numbers])


async def _compare(
    here: NotebookContext,
    pages_read: Sequence[ChangedPage],
    rows: Mapping[MemoryId, Memory],
    accepted: Collection[str],
    admission: Admission,
) -> NotebookReading:
    """Compare the changed pages with the rows; a page with an inadmissible line needs a review."""
    places = await lines.paths_of(here.db, sorted(rows))
    read = {each.path for each in pages_read}
    elsewhere = {number for number, path in places.items() if path not in read}
    known: dict[int, Memory] = dict(rows.items())
    while True:
        found = compare(pages_read, known, elsewhere, accepted=accepted)
        refused = _refused(here, found, rows, admission)
        if not refused:
            return found
        accepted, pages_read = _except(refused, accepted, pages_read)


def _except(
    refused: Mapping[str, str], accepted: Collection[str], read: Sequence[ChangedPage]
) -> tuple[Collection[str], Sequence[ChangedPage]]:
    """Return the accepted and the changed pages, with a concern about each refused page."""
    return (
        [path for path in accepted if path not in refused],
        [replace(each, concern=refused.get(each.path, each.concern)) for each in read],
    )


def _previous(
    here: NotebookContext, page: StoredPage | None, file: PageFile | None
) -> NotebookPage | None:
    """Return the version before the last one, if an editor may still have it open.

    None also if the file has every line that the last write added, and none that it removed.
    """
    if page is None or page.written_at is None or not page.previous:
        return None
    if here.now() - page.written_at > EDITING:
        return None
    before, after = (set(each.splitlines()) for each in (page.previous, page.text))
    now = set(file.text.splitlines()) if file else set()
    is_current = after - before <= now and not (before - after) & now
    return None if is_current else markdown.parse(page.previous)


def _refused(
    here: NotebookContext,
    comparison: NotebookReading,
    rows: Mapping[MemoryId, Memory],
    admission: Admission,
) -> dict[str, str]:
    """Return the pages with an inadmissible line, each with the reason."""
    refused: dict[str, str] = {}
    for each in comparison.edits:
        try:
            match each:
                case LineAdded():
                    admission.admit(each.path, comparison.pages[each.path].name, each.line)
                case LineChanged():
                    row = rows[MemoryId(each.number)]
                    admit_edit(each.edit, row.category, here.redact)
        except Invalid as error:
            refused.setdefault(each.path, UNSTORABLE.format(error))
    return refused


async def _store(
    here: NotebookContext, changed: _Changed, accepted: Collection[str], result: SyncResult
) -> NotebookReading:
    """Store the edits and the state of their pages in one transaction.

    Many new lines are stored in further ones. A line may be refused only then, because its topic
    key belongs to another memory. Its page needs a review, and the other pages are stored.
    """
    read: Sequence[ChangedPage] = _parse(here, changed)
    admission = Admission(here)
    await asyncio.to_thread(admission.prepare, read)
    recorded.set(None)
    while True:
        result.learned.clear()
        try:
            async with recording(here.db, ACTION, now=here.now()) as act:
                rows = await _rows_on(here, read)
                comparison = await _compare(here, read, rows, accepted, admission)
                await _store_edits(here, comparison, rows, act, result)
                files = _read_files(changed, comparison)
                storage = PageStorage(
                    here, files, changed.stored, comparison, admission, act, result
                )
                await storage.add_first()
        except _PagesRefused as error:
            accepted, read = _except(error.reasons, accepted, read)
        else:
            await storage.add_others()
            result.act = recorded.get()
            return comparison


async def _store_edits(
    here: NotebookContext,
    comparison: NotebookReading,
    rows: Mapping[MemoryId, Memory],
    act: Recording,
    result: SyncResult,
) -> None:
    """Store the changed and removed lines; raises _PagesRefused."""
    refused: dict[str, str] = {}
    for each in comparison.edits:
        try:
            match each:
                case LineChanged(_, number, line, change):
                    if await _change(here, rows[MemoryId(number)], change, act):
                        result.learned.append(shorten(line.comparable, LEARNED_CHARS))
                case LineRemoved(_, number):
                    await _change(here, rows[MemoryId(number)], Edit(active=False), act)
        except Invalid as error:
            refused.setdefault(each.path, UNSTORABLE.format(error))
    if refused:
        raise _PagesRefused(refused)


def _read_files(changed: _Changed, comparison: NotebookReading) -> dict[str, PageFile | None]:
    """Return the files of the pages that are read, not held for a review."""
    held = {*comparison.for_review, *_read_index(changed)}
    return {path: file for path, file in changed.files.items() if path not in held}


async def _change(here: NotebookContext, memory: Memory, change: Edit, act: Recording) -> bool:
    now = here.now()
    change = admit_edit(change, memory.category, here.redact)
    if change.service not in (None, GENERAL):
        service = await service_name(here.db, change.service, here.services())
        change = replace(change, service=service)
    if change.active and memory.confidence < ACTIVE_THRESHOLD:
        change = replace(change, confidence=ACTIVE_THRESHOLD)
    intents: list[Intent] = [*decay_changes([memory], now=now, act_id=act.id)]
    memory = apply_decay(memory, now=now)
    after = apply_edit(memory, change, now=now)
    await check_key(here.db, memory, after)
    if after == memory:
        return False
    await store(here.db, [*intents, MemoryChange(memory, after, act.why("edited"))], now=now)
    act.did(memory.id)
    return True


def _waiting(review: reviews.NotebookReview, changed: _Changed) -> dict[str, Sequence[str]]:
    """Return the pages without changes that still need a person because of unknown tags."""
    return {
        path: reasons
        for path, reasons in review.pages.items()
        if path not in changed.files and reasons and reasons[0].startswith(UNKNOWN_TAG)
    }


def _unknown(found: NotebookReading) -> dict[str, tuple[str, ...]]:
    return {
        path: tuple(f"{UNKNOWN_TAG}: {shorten(each, LEARNED_CHARS)}" for each in texts)
        for path, texts in found.unknown.items()
    }


async def _review(
    here: NotebookContext, reasons: Mapping[str, Sequence[str]], result: SyncResult
) -> None:
    """Store the pages that need a person as one review, and report new ones in one event."""
    now = here.now()
    async with writing(here.db):
        new = await reviews.save(here.db, reasons, now=now)
        if new:
            first = here.redact(f"{new[0]}.md: {reasons[new[0]][0]}")
            more = f" ({len(new) - 1:,} more pages)" if len(new) > 1 else ""
            text = f"Notebook needs review. {first}{more}"
            await events.insert(here.db, Level.WARNING, text, source=SOURCE, now=now)
