"""Bulk: one act of an operator on many memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from lamplighter.domain.memory.intents import ChangeOrigin, MemoryChange
from lamplighter.domain.memory.knowledge import confirm
from lamplighter.domain.memory.memory import Edit, Memory, apply_edit, clamp
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.memory import bulk, memories, trash
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.upkeep.batches import in_batches
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import OPERATOR, recorded, unfinished
from lamplighter.usecases.memory.fade import ONE_BY_ONE, fade_due

ActionName = Literal["delete", "confidence", "adjust", "deactivate", "activate", "confirm"]

EXAMPLES: Final = 5
MAX_EXAMINED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAction:
    """An action on each memory; `value` is the new confidence, or the amount to add."""

    action: ActionName
    value: float = 0.0

    def on(self, memory: Memory) -> Edit:
        """Return the edit of one memory."""
        match self.action:
            case "confidence":
                return Edit(confidence=self.value)
            case "adjust":
                adjusted = clamp(memory.confidence + round(self.value, 2))
                return Edit() if adjusted == memory.confidence else Edit(confidence=adjusted)
        return Edit(active=self.action == "activate")

    def after(self, memory: Memory, *, now: datetime) -> Memory:
        """Return a memory after the action."""
        if self.action == "confirm":
            return confirm(memory, now=now) if memory.active else memory
        return apply_edit(memory, self.on(memory), now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkResult:
    """The result of an act: the memories that it changed, and how many stayed as they were."""

    act: int
    ids: list[int]
    left: int = 0


async def apply_action(
    db: Database, chosen: Sequence[int] | MemoryFilter, act: BulkAction, *, now: datetime
) -> BulkResult:
    """Apply an action to many memories, once to each; deleted memories are skipped.

    The memories are selected first. The action then runs in batches, each in its own short
    transaction; other processes can write in between. Raises Conflict if a person undoes the
    action meanwhile: the remaining batches do not run.
    """
    where = bulk.selection(chosen)
    regular, odd = await bulk.matching(db, *where)
    async with writing(db):
        number = await journal.insert(db, act.action, value=act.value, now=now)
    unfinished.set(number)
    if act.action == "delete":
        done = await _deleted(db, sorted([*regular, *odd]), number, now=now)
    else:
        await fade_due(db, *where, now=now, act_id=number)
        done = await _changed(db, regular, odd, act, number, now=now)
    async with writing(db):
        await journal.finish(db, number, len(done.ids))
    unfinished.set(None)
    recorded.set(number)
    return done


async def _deleted(db: Database, ids: Sequence[int], number: int, *, now: datetime) -> BulkResult:
    why = ChangeOrigin(cause="deleted", actor=OPERATOR, act_id=number)

    async def delete(some: Sequence[int]) -> list[int]:
        await journal.expect_not_undone(db, number)
        return await trash.move(db, some, why, now=now)

    gone = await in_batches(db, ids, delete)
    return BulkResult(act=number, ids=gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPreview:
    """The preview of an act: how many memories match and change, with examples before and after.

    `falling` and `rising` turn inactive and active; `after` is None for deleted memories.
    """

    matched: int
    changed: int
    falling: int = 0
    rising: int = 0
    left: int = 0
    examples: Sequence[tuple[Memory, Memory | None]] = ()


async def preview(
    db: Database, chosen: Sequence[int] | MemoryFilter, act: BulkAction, *, now: datetime
) -> BulkPreview:
    """Preview an act on the current memories, with the statements that the act uses."""
    regular, odd = await bulk.matching(db, *bulk.selection(chosen))
    ids = sorted([*regular, *odd])
    examples = await _examples(db, ids, act, now=now)
    if act.action == "delete":
        return BulkPreview(matched=len(ids), changed=len(ids), examples=examples)
    counts = await bulk.preview_change(db, regular, act.action, act.value)
    pairs = [(each, act.after(each, now=now)) for each in await memories.list_by_ids(db, odd)]
    moved = [(before, after) for before, after in pairs if after != before]
    return BulkPreview(
        matched=len(ids),
        changed=counts.changed + len(moved),
        falling=counts.falling + sum(old.active and not new.active for old, new in moved),
        rising=counts.rising + sum(new.active and not old.active for old, new in moved),
        left=await bulk.count_too_low(db, ids) if act.action == "activate" else 0,
        examples=examples,
    )


async def _examples(
    db: Database, ids: Sequence[int], act: BulkAction, *, now: datetime
) -> list[tuple[Memory, Memory | None]]:
    """Return examples of changed memories; those that turn active or inactive come first."""
    held = await memories.list_by_ids(db, ids[:MAX_EXAMINED])
    if act.action == "delete":
        return [(each, None) for each in held[:EXAMPLES]]
    pairs = [(each, act.after(each, now=now)) for each in held]
    moved = [(before, after) for before, after in pairs if after != before]
    moved.sort(key=lambda pair: pair[0].active == pair[1].active)
    return [*moved[:EXAMPLES]]


async def _changed(
    db: Database,
    numbers: Sequence[int],
    odd: Sequence[int],
    act: BulkAction,
    number: int,
    *,
    now: datetime,
) -> BulkResult:
    left = 0

    async def change(some: Sequence[int]) -> list[int]:
        nonlocal left
        await journal.expect_not_undone(db, number)
        if act.action == "activate":
            left += await bulk.count_too_low(db, some)
        return await bulk.change(db, some, act.action, act.value, act=number, now=now)

    async def change_each(some: Sequence[int]) -> list[int]:
        nonlocal left
        await journal.expect_not_undone(db, number)
        if act.action == "activate":
            left += await bulk.count_too_low(db, some)
        held = await memories.list_by_ids(db, some)
        return [each.id for each in held if await _edited(db, each, act, number, now=now)]

    ids = await in_batches(db, numbers, change)
    ids += await in_batches(db, odd, change_each, first=ONE_BY_ONE)
    return BulkResult(act=number, ids=sorted(ids), left=left)


async def _edited(
    db: Database, memory: Memory, act: BulkAction, number: int, *, now: datetime
) -> bool:
    after = act.after(memory, now=now)
    if after == memory:
        return False
    await store(db, [MemoryChange(memory, after, bulk.change_origin(number))], now=now)
    return True
