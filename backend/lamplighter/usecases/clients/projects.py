"""Projects: all that is known of one may become another's, when its name changes."""

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
    """How much was moved; `superseded` memories gave their topic key to a newer one."""

    memories: int = 0
    superseded: int = 0
    sessions: int = 0
    prompts: int = 0

    @property
    def any(self) -> bool:
        """Whether it was anything."""
        return bool(self.memories or self.sessions or self.prompts)


async def move(
    db: Database, old: str, new: str, *, by: str = "", now: datetime
) -> MoveResult | None:
    """Let the knowledge, the sessions and the prompts of one project be another's.

    None when both are the same. What sessions observe of services stays where it is.
    Of two memories of one topic key the one that was revised last is current from then on;
    the other stays, as superseded by it. In short writes: a move that was cut off goes on
    when it is asked again. Raises Invalid.
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
    """Move a memory; returns whether it or the one that has its key there is superseded now."""
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
