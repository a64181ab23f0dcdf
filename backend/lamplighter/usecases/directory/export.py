"""Export to a directory: one file for each memory, with the same bytes while nothing changes."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.directory.values import assign_paths, values_of
from lamplighter.domain.errors import Conflict, Unavailable
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.notebook.place import belongs
from lamplighter.formats.memory_files import render
from lamplighter.notebook.directory import BaseText, DirectoryScan, MemoryDirectory
from lamplighter.repository import Database, reading
from lamplighter.repository.access import journal
from lamplighter.repository.clients import exports

MAX_NAMED: Final = 5
INCOMPLETE: Final = "The export is incomplete. Run it again to write the remaining files."


@dataclass(slots=True)
class DirectoryExport:
    """The files that an export wrote and removed, and the number left unchanged."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0


async def exported_memories(db: Database, project: str | None = None) -> list[Memory]:
    """Return the memories that a directory contains: active ones, without raw episodes."""
    found: list[Memory] = []
    async with reading(db):
        async for some in exports.all_memories(db, project=project):
            found += [each for each in some if belongs(each)]
    return found


async def export_directory(
    db: Database, tree: MemoryDirectory, *, project: str | None = None
) -> DirectoryExport:
    """Write the files of all memories, or of one project; raises Conflict naming unapplied edits.

    A file that differs from the last export or apply has edits that were not applied: then nothing
    is written. An interrupted export is completed by the next one.
    """
    scan = await asyncio.to_thread(tree.scan) if tree.root.exists() else DirectoryScan()
    base = await read_base(db, tree, scan)
    memories = await exported_memories(db, project)
    taken = {path: int(each.memory_id) for path, each in base.items()}
    paths = assign_paths(memories, taken)
    texts = {paths[each.id]: render(values_of(each)) for each in memories}
    gone = [path for path in base if path not in texts] if project is None else []
    _refuse_unapplied(base, scan, texts, gone)
    numbers = {paths[each.id]: each.id for each in memories}
    after = {path: each for path, each in base.items() if path not in {*texts, *gone}}
    after |= {path: BaseText(numbers[path], text) for path, text in texts.items()}
    await asyncio.to_thread(tree.write_base, base, after)
    try:
        return await asyncio.to_thread(_write, tree, scan, texts, gone, after)
    except Unavailable as error:
        raise Unavailable(f"{error} {INCOMPLETE}") from error


async def read_base(
    db: Database, tree: MemoryDirectory, scan: DirectoryScan
) -> dict[str, BaseText]:
    """Return the files as of the last export or apply.

    Of an apply that was interrupted, the journal knows whether it was committed.
    """
    act = await asyncio.to_thread(tree.interrupted_apply)
    entry = None if act is None else await journal.get(db, act.id)
    applied = act is not None and entry is not None and entry.created_at == act.at
    return await asyncio.to_thread(tree.read_base, scan.files, applied=applied)


def _refuse_unapplied(
    base: dict[str, BaseText], scan: DirectoryScan, texts: dict[str, str], gone: list[str]
) -> None:
    edited = [f"{path} {reason}" for path, reason in scan.problems.items()]
    for path in sorted({*texts, *gone}):
        now, before = scan.files.get(path), base.get(path)
        if now is None and before is not None and path in texts:
            edited.append(f"{path} was removed")
        elif now is not None and now != texts.get(path) and (not before or now != before.text):
            edited.append(f"{path} was changed")
    if edited:
        more = len(edited) - MAX_NAMED
        rest = f"; and {more:,} more" if more > 0 else ""
        raise Conflict(
            f"Nothing was exported, because edits of the directory were not applied. "
            f"Run `lamplighter apply` first. {'; '.join(edited[:MAX_NAMED])}{rest}."
        )


def _write(
    tree: MemoryDirectory,
    scan: DirectoryScan,
    texts: dict[str, str],
    gone: list[str],
    base: dict[str, BaseText],
) -> DirectoryExport:
    done = DirectoryExport()
    for path, text in sorted(texts.items()):
        if scan.files.get(path) == text:
            done.unchanged += 1
        else:
            tree.write(path, text)
            done.written.append(path)
    for path in gone:
        if path in scan.files:
            tree.remove(path)
            done.removed.append(path)
    tree.write_base(base)
    return done
