"""Projects: the knowledge of a project moves to another project, for example when it is renamed."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.memory.intents import ChangeOrigin, MemoryChange, MemoryLink
from lamplighter.domain.memory.knowledge import supersede
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.review import SUPERSEDES
from lamplighter.domain.text import PROJECT_CHARS, normalize_project, one_line
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import client_prompts, client_sessions
from lamplighter.repository.memory import knowledge, memories
from lamplighter.repository.writes import store

BATCH_SIZE: Final = 200
MOVED: Final = "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveResult:
    """The number of moved rows; `superseded` memories lost their topic key to a newer memory."""

    memories: int = 0
    superseded: int = 0
    sessions: int = 0
    prompts: int = 0

    @property
    def any(self) -> bool:
        """Whether any row was moved."""
        return bool(self.memories or self.sessions or self.prompts)


async def move(
    db: Database, old: str, new: str, *, by: str = "", now: datetime
) -> MoveResult | None:
    """Move the knowledge, sessions and prompts of one project to another project.

    None if both are the same. Observations of services by sessions stay in their project. If two
    memories have the same topic key, the one revised last becomes the current one and supersedes
    the other. Written in short transactions: an interrupted move continues when it is requested
    again. Raises Invalid.
    """
    source, target = _check_name(old, "old_project"), _check_name(new, "new_project")
    if source == target:
        return None
    count = replaced = 0
    while True:
        async with writing(db):
            held = await knowledge.of_project(db, source, limit=BATCH_SIZE)
            for memory in held:
                replaced += await _move(db, memory, target, who=by, now=now)
            count += len(held)
            if len(held) == BATCH_SIZE:
                continue
            return MoveResult(
                memories=count,
                superseded=replaced,
                sessions=await client_sessions.move(db, source, target, now=now),
                prompts=await client_prompts.move(db, source, target),
            )


async def _move(db: Database, memory: Memory, target: str, *, who: str, now: datetime) -> bool:
    """Move a memory; return whether it, or the holder of its topic key there, is now superseded."""
    moved = replace(memory, project=target, version=memory.version + 1)
    reason = "; ".join(filter(None, (f"{memory.project} is now {target}", who)))
    holder = moved.active and await knowledge.topic_key_holder(db, moved, without=moved.id)
    there = await memories.get(db, holder) if holder else None
    if there is None:
        await store(db, [_change(memory, moved, reason)], now=now)
        return False
    if _age(there) > _age(memory):
        by, aside = there, moved
        changes = [_change(memory, supersede(moved), f"{reason}; {_newer(there)}")]
    else:
        by, aside = moved, there
        gone = replace(supersede(there), version=there.version + 1)
        changes = [_change(there, gone, _newer(moved)), _change(memory, moved, reason)]
    await store(db, [*changes, MemoryLink(by.id, aside.id, SUPERSEDES)], now=now)
    return True


def _change(before: Memory, after: Memory, reason: str) -> MemoryChange:
    return MemoryChange(before, after, ChangeOrigin(cause=MOVED, actor="client", reason=reason))


def _age(memory: Memory) -> tuple[datetime, int]:
    return memory.updated_at, memory.id


def _newer(memory: Memory) -> str:
    return f"memory {memory.id} has the same topic key and is newer"


def _check_name(project: str, field: str) -> str:
    name = normalize_project(one_line(project))
    if not name or len(name) > PROJECT_CHARS:
        raise Invalid(InvalidField(field, f"must have 1 to {PROJECT_CHARS} characters"))
    return name
