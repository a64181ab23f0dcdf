"""The three-way merge of a directory, the memories, and their last common state."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from lamplighter.domain.directory.values import CONSTANT, EDITABLE, STRENGTH, Values
from lamplighter.domain.memory.memory import MemoryId


class Side(StrEnum):
    """The side that wins a conflict."""

    DIRECTORY = "directory"
    DATABASE = "database"


class FileAction(StrEnum):
    """The effect of a file on the database."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A file in its state at the last export or apply: its memory, and its values."""

    memory_id: MemoryId
    values: Values


@dataclass(frozen=True, slots=True)
class FileChange:
    """The changes from a file: the values to set, by their names."""

    path: str
    action: FileAction
    memory_id: MemoryId | None = None
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A file that cannot be applied, and the reason.

    If both sides changed the text of a memory, `memory_id` is that memory and `text` the text in
    the file.
    """

    path: str
    message: str
    memory_id: MemoryId | None = None
    text: str = ""


@dataclass(slots=True)
class DirectoryMerge:
    """The result of a merge: the changes to the database, and the files that cannot be applied.

    `memories` are the memories of the existing files.
    """

    changes: list[FileChange] = field(default_factory=list)
    conflicts: list[FileConflict] = field(default_factory=list)
    memories: dict[str, MemoryId] = field(default_factory=dict)


TEXT: Final = "observation"
CHANGED_BOTH: Final = "was changed here and in the database: {}"
REMOVED_THERE: Final = "was changed here, and its memory was removed from the database"
REMOVED_HERE: Final = "was removed here, and its memory was changed in the database: {}"
NOT_CHANGEABLE: Final = "changes {}, which cannot be changed; remove the file and add a new one"


def merge_directory(
    base: Mapping[str, BaseFile],
    files: Mapping[str, Values],
    memories: Mapping[MemoryId, Values],
    prefer: Side | None = None,
    judged: Collection[tuple[MemoryId, str]] = (),
) -> DirectoryMerge:
    """Merge the files into the memories; edits of both sides survive.

    `memories` are those that an export would write. A conflict is a field that both sides changed
    to different values; `prefer` decides conflicts. `judged` are texts of files that a person
    decided in a review: for these the memory is right.
    """
    merge = _Merge(prefer, judged)
    base = _follow_moves(base, files)
    bound = {each.memory_id for each in base.values()}
    free = {number: each for number, each in memories.items() if number not in bound}
    for path in sorted({*base, *files}):
        base_file, stated = base.get(path), files.get(path)
        if base_file is None:
            assert stated is not None
            merge.add(path, stated, free)
        elif stated is None:
            merge.remove(path, base_file, memories.get(base_file.memory_id))
        elif (now := memories.get(base_file.memory_id)) is None:
            merge.revive(path, base_file, stated)
        else:
            merge.change(path, base_file.memory_id, base_file.values, stated, now)
    return merge.result


def _follow_moves(base: Mapping[str, BaseFile], files: Mapping[str, Values]) -> dict[str, BaseFile]:
    """Return the base with the new paths of files that only moved."""
    gone: dict[Any, list[str]] = defaultdict(list)
    for path in sorted(base.keys() - files.keys()):
        gone[_key(base[path].values)].append(path)
    found = dict(base)
    for path in sorted(files.keys() - base.keys()):
        before = gone.get(_key(files[path]))
        if before:
            found[path] = found.pop(before.pop(0))
    return found


def _key(values: Values) -> tuple[Any, ...]:
    return values["project"], values["service"], values["category"], values["observation"]


@dataclass(slots=True)
class _Merge:
    prefer: Side | None
    judged: Collection[tuple[MemoryId, str]]
    result: DirectoryMerge = field(default_factory=DirectoryMerge)

    def add(self, path: str, stated: Values, free: dict[MemoryId, Values]) -> None:
        """Bind a new file to the memory with the same text, or create one."""
        same = [number for number, each in free.items() if _key(each) == _key(stated)]
        if not same:
            self.result.changes.append(FileChange(path, FileAction.CREATE, values=stated))
            return
        now = free.pop(min(same))
        self.change(path, min(same), None, stated, now)

    def remove(self, path: str, base_file: BaseFile, now: Values | None) -> None:
        """Remove the memory of a deleted file, unless the memory changed since."""
        if now is None:
            return
        changed = [name for name in EDITABLE if now[name] != base_file.values[name]]
        if changed and self.prefer is None:
            self.conflict(path, REMOVED_HERE.format(_names(changed)))
        elif not changed or self.prefer is Side.DIRECTORY:
            self.result.changes.append(FileChange(path, FileAction.REMOVE, base_file.memory_id))

    def revive(self, path: str, base_file: BaseFile, stated: Values) -> None:
        """Leave a deleted memory deleted, unless its file changed since."""
        if all(stated[name] == base_file.values[name] for name in EDITABLE):
            self.result.memories[path] = base_file.memory_id
        elif self.prefer is None:
            self.conflict(path, REMOVED_THERE)
        elif self.prefer is Side.DIRECTORY:
            self.result.changes.append(FileChange(path, FileAction.CREATE, values=stated))
        else:
            self.result.memories[path] = base_file.memory_id

    def change(
        self, path: str, number: MemoryId, base: Values | None, stated: Values, now: Values
    ) -> None:
        """Merge one file with its memory, field by field."""
        fixed = [name for name in CONSTANT if base and stated[name] not in (None, base[name])]
        if fixed:
            self.conflict(path, NOT_CHANGEABLE.format(_names(fixed)))
            return
        changes, conflicts = _merge_fields(base, stated, now)
        strength = _strength(base, stated, now)
        if strength is None:
            conflicts.append("confidence")
        else:
            changes |= strength
        if (number, stated[TEXT]) in self.judged and TEXT in conflicts and self.prefer is None:
            conflicts.remove(TEXT)
        if conflicts and self.prefer is None:
            both = (number, stated[TEXT]) if TEXT in conflicts else (None, "")
            message = CHANGED_BOTH.format(_names(conflicts))
            self.result.conflicts.append(FileConflict(path, message, *both))
            return
        if self.prefer is Side.DIRECTORY:
            changes |= {name: stated[name] for name in conflicts}
        self.result.memories[path] = number
        if changes:
            self.result.changes.append(FileChange(path, FileAction.CHANGE, number, changes))

    def conflict(self, path: str, message: str) -> None:
        """Record a file that is not applied."""
        self.result.conflicts.append(FileConflict(path, message))


def _merge_fields(
    base: Values | None, stated: Values, now: Values
) -> tuple[dict[str, Any], list[str]]:
    """Return the changes from the file, and the fields that both sides changed."""
    changes: dict[str, Any] = {}
    conflicts: list[str] = []
    for name in EDITABLE:
        if stated[name] == now[name] or (base is not None and stated[name] == base[name]):
            continue
        if base is not None and now[name] == base[name]:
            changes[name] = stated[name]
        else:
            conflicts.append(name)
    return changes, conflicts


def _strength(base: Values | None, stated: Values, now: Values) -> dict[str, Any] | None:
    """Return the file's changes to confidence and dates; None for a conflict.

    If another database confirmed the memory too, the later confirmation wins.
    """
    there, here = ({name: each[name] for name in STRENGTH} for each in (now, stated))
    before = None if base is None else {name: base[name] for name in STRENGTH}
    if here in (there, before):
        return {}
    moved = base is None or stated["updated_at"] != base["updated_at"]
    if moved:
        later = stated["updated_at"] is not None and stated["updated_at"] > now["updated_at"]
        return here if later else {}
    if there == before or stated["confidence"] == now["confidence"]:
        return {"confidence": stated["confidence"]}
    return {} if base is not None and stated["confidence"] == base["confidence"] else None


def _names(fields: list[str]) -> str:
    return ", ".join(FILE_NAMES.get(name, name) for name in fields)


FILE_NAMES: Final = {
    "observation": "text",
    "updated_at": "confirmed",
    "created_at": "created",
    "verified_at": "verified",
    "expires_at": "expires",
}
"""The names of fields in a file, if they differ from those of a memory."""
