"""Plan and apply: edits of a directory are merged into the memories, in one act."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.directory.merge import (
    BaseFile,
    DirectoryMerge,
    FileAction,
    FileChange,
    FileConflict,
    Side,
    merge_directory,
)
from lamplighter.domain.directory.values import (
    STRENGTH,
    Values,
    candidate_from,
    memory_from,
    values_of,
)
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.admit import admit_candidate, admit_edit
from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.intents import MemoryChange
from lamplighter.domain.memory.memory import (
    EDITABLE_FIELDS,
    GENERAL,
    NONE_WORDS,
    Edit,
    Memory,
    MemoryId,
    apply_edit,
)
from lamplighter.domain.memory.review import Resolution, ReviewKind, ReviewState
from lamplighter.formats.memory_files import parse
from lamplighter.notebook.directory import ApplyAct, BaseText, DirectoryScan, MemoryDirectory
from lamplighter.repository import writing
from lamplighter.repository.clients import imports
from lamplighter.repository.memory import history, memories, reviews, trash
from lamplighter.repository.memory.bulk import publish
from lamplighter.repository.memory.history import DELETED
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.store.database import trying
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import OPERATOR, Recording, recorded, recording
from lamplighter.usecases.directory.export import exported_memories, read_base
from lamplighter.usecases.effect.prompts import (
    PromptContext,
    PromptEffect,
    compare,
    read_prompts,
    scopes_of,
)
from lamplighter.usecases.memory import curate

ACTION: Final = "apply"
CHANGED_HERE: Final = "The file {} and its memory were both changed."


@dataclass(slots=True)
class DirectoryApply:
    """The changes that an apply makes or made; `refused` are the files that are not applied.

    Each of these has its reason. `effects` are the prompts that change; `act` is the act in the
    journal.
    """

    changes: list[FileChange] = field(default_factory=list)
    refused: list[FileConflict] = field(default_factory=list)
    effects: Sequence[PromptEffect] = ()
    act: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "changes": [
                {"path": each.path, "action": each.action, "fields": sorted(each.values)}
                for each in self.changes
            ],
            "refused": [
                {"path": each.path, "error": each.message, "review": each.memory_id is not None}
                for each in self.refused
            ],
            "effects": [each.as_json() for each in self.effects],
            "act": self.act,
        }


@dataclass(slots=True)
class _Applying:
    """An apply in progress: the merge, its act, and the memories before and after."""

    here: PromptContext
    merge: DirectoryMerge
    act: Recording
    now: datetime
    done: DirectoryApply = field(default_factory=DirectoryApply)
    touched: list[Memory] = field(default_factory=list)


async def plan(
    here: PromptContext, tree: MemoryDirectory, *, prefer: Side | None = None
) -> DirectoryApply:
    """Return the changes that an apply would make, and its effects on prompts; change nothing."""
    scan = await asyncio.to_thread(tree.scan)
    base = await read_base(here.db, tree, scan)
    before = recorded.get()
    async with trying(here.db):
        work = await _run(here, scan, base, prefer)
        scopes = scopes_of(work.touched)
        after = await read_prompts(here, scopes, now=work.now)
    recorded.set(before)
    work.done.effects = compare(await read_prompts(here, scopes, now=work.now), after)
    return work.done


async def apply(
    here: PromptContext, tree: MemoryDirectory, *, prefer: Side | None = None
) -> DirectoryApply:
    """Merge the directory into the memories, in one act.

    A file that cannot be read stops the whole apply; a file in conflict is skipped and the others
    are applied.
    """
    scan = await asyncio.to_thread(tree.scan)
    base = await read_base(here.db, tree, scan)
    recorded.set(None)
    async with writing(here.db):
        work = await _run(here, scan, base, prefer)
        work.done.act = recorded.get()
        if not scan.problems:
            await _review(work, {each.memory_id for each in base.values()})
            after = _base_after(work, scan, base)
            if work.done.act is not None:  # if the process ends after the commit
                act = ApplyAct(work.done.act, work.now)
                await asyncio.to_thread(tree.write_base, base, after, act)
    if not scan.problems:
        await asyncio.to_thread(tree.write_base, after)
    return work.done


def _base_after(
    work: _Applying, scan: DirectoryScan, base: Mapping[str, BaseText]
) -> dict[str, BaseText]:
    """Return the files as of this apply, and the refused ones as before it."""
    refused = {each.path for each in work.done.refused}
    earlier = {path: each for path, each in base.items() if path in refused}
    return earlier | {
        path: BaseText(number, scan.files[path])
        for path, number in work.merge.memories.items()
        if path not in refused
    }


async def _run(
    here: PromptContext,
    scan: DirectoryScan,
    base: Mapping[str, BaseText],
    prefer: Side | None,
) -> _Applying:
    now = here.now()
    existing = {each.id: values_of(each) for each in await exported_memories(here.db)}
    files, refused = _parsed(scan.files)
    refused += [
        FileConflict(path, f"{reason}; nothing is applied until this is corrected")
        for path, reason in scan.problems.items()
    ]
    bad = {each.path for each in refused}
    same = {path for path, each in base.items() if scan.files.get(path) == each.text} - bad
    texts = {path: each.text for path, each in base.items() if path not in bad | same}
    earlier = {**_parsed(texts)[0], **{path: files[path] for path in same}}
    base_files = {  # of an earlier text that is refused now, its memory is the base
        path: BaseFile(each.memory_id, values)
        for path, each in base.items()
        if path not in bad and (values := earlier.get(path) or existing.get(each.memory_id))
    }
    merge = DirectoryMerge()
    if not scan.problems:
        judged = await _judged(here, existing, files)
        merge = merge_directory(base_files, files, existing, prefer, judged)
    async with recording(here.db, ACTION, now=now) as act:
        work = _Applying(here, merge, act, now)
        work.done.refused = [*refused, *merge.conflicts]
        for change in merge.changes:
            try:
                await _apply(work, change)
                work.done.changes.append(change)
            except Invalid as error:
                work.done.refused.append(FileConflict(change.path, str(error)))
    work.done.refused.sort(key=lambda each: each.path)
    return work


async def _judged(
    here: PromptContext, ids: Collection[MemoryId], files: Mapping[str, Values]
) -> set[tuple[MemoryId, str]]:
    """Return the texts of files on which a person decided in a review, each with its memory."""
    decided: dict[str, list[MemoryId]] = {}
    for each in await reviews.of_files(here.db, ids):
        if each.resolved_by == OPERATOR:
            decided.setdefault(each.observation, []).append(each.old_id)
    if not decided:
        return set()
    texts = {str(each["observation"]) for each in files.values()}
    return {(number, text) for text in texts for number in decided.get(here.redact(text), ())}


async def _review(work: _Applying, bound: Collection[MemoryId]) -> None:
    """Open a review for each text that both sides changed, and dismiss those that are settled."""
    db, now = work.here.db, work.now
    texts = {
        (each.memory_id, work.here.redact(each.text)): each
        for each in work.merge.conflicts
        if each.memory_id is not None
    }
    for each in await reviews.of_files(db, bound):
        settled = (each.old_id, each.observation) not in texts
        if each.state is ReviewState.OPEN and settled:
            await reviews.resolve(db, each, Resolution.DISMISS, by=ACTION, now=now)
    for (number, text), conflict in texts.items():
        memory = await memories.get(db, number)
        assert memory is not None
        reason = CHANGED_HERE.format(conflict.path)
        await reviews.insert(
            db, ReviewKind.FILE, memory, number, text=text, reason=reason, session_id=None, now=now
        )


def _parsed(files: Mapping[str, str]) -> tuple[dict[str, Values], list[FileConflict]]:
    parsed: dict[str, Values] = {}
    refused: list[FileConflict] = []
    for path, text in files.items():
        try:
            parsed[path] = parse(text)
        except Invalid as error:
            refused.append(FileConflict(path, str(error)))
    return parsed, refused


async def _apply(work: _Applying, change: FileChange) -> None:
    match change.action:
        case FileAction.CREATE:
            work.merge.memories[change.path] = await _create(work, change)
        case FileAction.CHANGE:
            assert change.memory_id is not None
            await _change(work, change.memory_id, change)
        case FileAction.REMOVE:
            assert change.memory_id is not None
            await _remove(work, change.memory_id, change)


async def _create(work: _Applying, change: FileChange) -> MemoryId:
    here = work.here
    candidate = admit_candidate(candidate_from(change.values), here.redact)
    service = await service_name(here.db, candidate.service, here.services.names)
    candidate = replace(candidate, service=service)
    made = memory_from(change.values, candidate, now=work.now)
    await curate.check_key(here.db, replace(made, active=False), made)
    memory = await imports.insert(here.db, made, number=None)
    why = work.act.why("created", f"from {change.path}")
    await history.append(here.db, None, memory, why, now=work.now)
    await publish(here.db, [memory.id], ChangeOp.CREATED, now=work.now)
    work.act.did(memory.id)
    work.touched.append(memory)
    return memory.id


async def _change(work: _Applying, number: MemoryId, change: FileChange) -> None:
    here, now = work.here, work.now
    memory = await memories.get(here.db, number)
    assert memory is not None
    intents = decay_changes([memory], now=now, act_id=work.act.id)
    due = apply_decay(memory, now=now)
    given: dict[str, Any] = {
        name: NONE_WORDS[name] if name in NONE_WORDS and value is None else value
        for name, value in change.values.items()
        if name in EDITABLE_FIELDS
    }
    edit = admit_edit(Edit(**given), memory.category, here.redact)
    if edit.service not in (None, GENERAL):
        service = await service_name(here.db, edit.service, here.services.names)
        edit = replace(edit, service=service)
    after = apply_edit(due, edit, now=now)
    stated = {name: change.values[name] for name in (*STRENGTH, "trust") if name in change.values}
    if stated.get("updated_at", now) is not None:
        after = replace(after, **stated, version=due.version + 1)
    await curate.check_place(here.db, due, after)
    if after == due:
        return
    why = work.act.why("edited", f"from {change.path}")
    await store(here.db, [*intents, MemoryChange(due, after, why)], now=now)
    work.act.did(number)
    work.touched += [due, after]


async def _remove(work: _Applying, number: MemoryId, change: FileChange) -> None:
    memory = await memories.get(work.here.db, number)
    assert memory is not None
    why = work.act.why(DELETED, f"{change.path} was removed")
    await trash.move(work.here.db, [number], why, now=work.now, alone=True)
    work.act.did(number)
    work.touched.append(memory)
