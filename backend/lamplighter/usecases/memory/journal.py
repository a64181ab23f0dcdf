"""The undo of acts: an operator's act is reverted exactly, or refused with the reason."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from lamplighter.domain.errors import Conflict, NotFound, require
from lamplighter.domain.memory.intents import ChangeOrigin, MemoryChange
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.memory.review import ReviewState
from lamplighter.domain.memory.undo import (
    FADED,
    UNDONE,
    act_undo_reason,
    restore_before,
    undo_reason,
)
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.summary import withdrawn_quote
from lamplighter.domain.verify.verdict import VERIFIED
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import ActChanges, JournalEntry
from lamplighter.repository.clients import (
    client_prompts,
    imports,
    interactive_sessions,
    transcripts,
)
from lamplighter.repository.graph import undo as graph
from lamplighter.repository.memory import bulk, history, knowledge, memories, reviews, trash
from lamplighter.repository.memory.history import DELETED, PURGED, RESTORED, HistoryRecord
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.upkeep.batches import FIRST, in_batches
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import OPERATOR, recorded, recording, unfinished
from lamplighter.usecases.memory.curate import find_key_holder

IMPORT: Final = "import"
IMPORTED: Final = "imported"
"""The act of an import, and the cause of the memories that it created."""

CREATION_CAUSES: Final = ("created", RESTORED, IMPORTED)
NOTHING_TO_UNDO: Final = (
    "Act {} changed no memory that can be restored. Imported sessions and prompts stay."
)
_DECIDED: Final = "A decision on an approval is final: the session already has the answer."
IRREVERSIBLE: Final[Mapping[str, str]] = {
    "purge": "Permanently deleted memories cannot be restored.",
    "approve": _DECIDED,
    "deny": _DECIDED,
    "replace": _DECIDED,
    "take": "An accepted marker cannot be reverted. Edit or delete the memory that it created.",
    "halt": "A halt cannot be undone: its sessions have ended. Use Resume to end the halt.",
    "resume": "A resume cannot be undone. Halt again instead.",
    "subscribe": "A device is subscribed by its browser. Remove it in Settings instead.",
    "unsubscribe": "A removed device cannot be restored. Turn on notifications there again.",
    "token": "A created token cannot be undone. Revoke it instead.",
    "revoke": "A revoked token cannot be restored. Create a new one.",
}
"""Why an act cannot be undone, by its action."""

PROMPT: Final = "prompt "
"""The prefix of the subject of an act that withdrew a prompt; the prompt's ID follows."""

LINKING: Final = ("organize", "withdraw")
"""The acts that link memories: their undo removes the links."""

KEY_TAKEN: Final = "The topic key of memory {} now belongs to memory {}"
MAX_NAMED: Final = 5
REVERTED_AT_ONCE: Final = 10

REST: Final = "The rest can be undone."
"""The end of a conflict message if an undo with `partly` changes something.

The app checks for it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertResult:
    """The result of an undo: its number, the act, the memories, and how many rows and conflicts."""

    act: int
    undoes: JournalEntry
    ids: list[int] = field(default_factory=list)
    rows: int = 0
    left: int = 0


@dataclass(slots=True)
class UndoPlan:
    """The changes that an undo makes to memories, and its conflicts by memory.

    `newest` is the newest entry of the history when it was made. An `exact` undo changes all of
    them or none.
    """

    newest: int = 0
    exact: bool = False
    restore: list[int] = field(default_factory=list)
    discard: list[ActChanges] = field(default_factory=list)
    revert: list[ActChanges] = field(default_factory=list)
    conflicts: dict[int, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of memories that the undo concerns."""
        planned = len(self.restore) + len(self.discard) + len(self.revert)
        return planned + len(self.conflicts)


async def undo(db: Database, act_id: int, *, now: datetime, partly: bool = False) -> RevertResult:
    """Undo an act of an operator: restore every row to its previous state.

    Raises NotFound, and Conflict naming later changes; with `partly` those memories stay unchanged.
    An act on many memories is undone in short transactions, as it was done. An undo that was
    interrupted is continued by the next one.
    """
    act = await undoable(db, act_id)
    async with AsyncExitStack() as stack:
        if await journal.count_memories(db, act_id) <= FIRST:
            await stack.enter_async_context(writing(db))
            act = await undoable(db, act_id)
        plan = await _plan(db, act)
        if plan.conflicts and not partly:
            raise Conflict(_refusal(plan))
        plan.exact = db.in_transaction and not partly
        number = await _begin_undo(db, act, now=now)
        unfinished.set(None if db.in_transaction else number)
        ids = await _apply_plan(db, act, plan, number, now=now)
        async with writing(db):
            rows = len(ids) + await _undo_related(db, act, now=now)
            await journal.finish(db, number, rows)
    recorded.set(number)
    unfinished.set(None)
    left = plan.size - len(ids)
    return RevertResult(act=number, undoes=act, ids=sorted(ids), rows=rows, left=left)


async def restore(db: Database, memory_id: int, *, now: datetime) -> Memory:
    """Restore a memory from the trash; raises NotFound, Conflict."""
    async with recording(db, "restore", now=now) as act:
        require(await trash.get(db, memory_id), f"Memory {memory_id} is not in the trash.")
        plan = UndoPlan(restore=[memory_id])
        await _keys(db, plan)
        if plan.conflicts:
            raise Conflict(f"Nothing was restored. {plan.conflicts[memory_id]}.")
        await trash.restore(db, [memory_id], act.why(RESTORED), now=now, alone=True)
        act.did(memory_id)
        memory = await memories.get(db, memory_id)
        assert memory is not None
        return memory


async def purge(db: Database, memory_id: int, *, now: datetime) -> None:
    """Delete a memory of the trash permanently; raises NotFound."""
    async with recording(db, "purge", now=now) as act:
        if not await trash.purge(db, [memory_id], act.why(PURGED), now=now):
            raise NotFound(f"Memory {memory_id} is not in the trash.")
        act.did(memory_id)


async def purge_expired(db: Database, retention: timedelta | None, *, now: datetime) -> int:
    """Delete memories permanently after their retention in the trash; return how many."""
    if retention is None:
        return 0
    why = ChangeOrigin(cause=PURGED, actor="supervisor", reason="its retention in the trash ended")
    ids = await trash.expired(db, before=now - retention)
    return len(await in_batches(db, ids, lambda some: trash.purge(db, some, why, now=now)))


async def undoable(db: Database, act_id: int) -> JournalEntry:
    """Return an act that can be undone; raises NotFound, and Conflict with the reason."""
    act = require(await journal.get(db, act_id), f"Act {act_id} not found.")
    if act.undone_by is not None:
        raise Conflict(f"Act {act_id} was already undone by act {act.undone_by}.")
    if act.action in IRREVERSIBLE:
        raise Conflict(IRREVERSIBLE[act.action])
    if act.undoes is not None:
        raise Conflict(f"Act {act_id} is itself an undo. Repeat the original act instead.")
    return act


async def _plan(db: Database, act: JournalEntry) -> UndoPlan:
    plan = UndoPlan(newest=await history.last_id(db))
    discarded = set(await trash.of_act(db, act.id))
    later_changes = await journal.changed_since(db, act.id)
    made = await journal.changes_of_act(db, act.id)
    if act.action == IMPORT and not made:
        raise Conflict(NOTHING_TO_UNDO.format(act.id))
    undone = await journal.memories_undone(db, act.id)  # by an undo that was interrupted
    for each in made:
        number = each.memory_id
        if number in undone:
            continue
        deleted = each.ended == DELETED
        if number in later_changes and await _is_upkeep(db, each, act.id):
            del later_changes[number]
        if number in later_changes or (deleted and number not in discarded):
            known = len(plan.conflicts) >= MAX_NAMED  # only the first few are looked up
            why = "" if known else await _describe_change(db, number, later_changes.get(number, 0))
            plan.conflicts[number] = why
        elif deleted:
            plan.restore.append(number)
        else:
            (plan.discard if each.began in CREATION_CAUSES else plan.revert).append(each)
    await _keys(db, plan)
    await _review(db, act)
    return plan


async def _is_upkeep(db: Database, made: ActChanges, act_id: int) -> bool:
    """Whether a memory that an act created has since only been verified by sources or faded."""
    if made.began not in CREATION_CAUSES:
        return False
    later = await history.changes_after(db, made.memory_id, made.first)
    return all(each.act_id == act_id or _is_by_itself(each) for each in later)


def _is_by_itself(step: HistoryRecord) -> bool:
    return step.act_id is None and step.cause in (VERIFIED, FADED)


async def _describe_change(db: Database, number: int, entry: int) -> str:
    """Describe the last change of a memory since an act."""
    last = await history.get(db, number, entry)
    if last is None:
        return f"Memory {number} was deleted permanently"
    by = f"session {last.session_id}" if last.session_id else f"the {last.actor}"
    return f"Memory {number} was later {last.cause} by {by} (version {last.version})"


async def _keys(db: Database, plan: UndoPlan) -> None:
    """Add a conflict for each topic key that another memory has by now."""
    for each in await trash.by_ids(db, plan.restore):
        memory = each.memory
        if memory is None or not memory.active:
            continue
        holder = await knowledge.topic_key_holder(db, memory)
        if holder is not None:
            plan.conflicts[each.id] = KEY_TAKEN.format(each.id, holder)
    leaving = {each.memory_id for each in (*plan.discard, *plan.revert)}
    taken = await knowledge.taken_topic_keys(db, [each.first for each in plan.revert])
    for number, holder in taken.items():
        if holder not in leaving:
            plan.conflicts[number] = KEY_TAKEN.format(number, holder)
    plan.restore = [each for each in plan.restore if each not in plan.conflicts]
    plan.revert = [each for each in plan.revert if each.memory_id not in plan.conflicts]


async def _review(db: Database, act: JournalEntry) -> None:
    if act.review_id is None:
        return
    review = await reviews.get(db, act.review_id)
    if review is None or review.state is ReviewState.OPEN:
        raise Conflict(f"Review {act.review_id} is already open.")
    other = await reviews.open_twin(db, review)
    if other is not None:
        raise Conflict(f"Review {other.id} is already open for the same two memories.")
    both = {review.old_id, review.new_id}
    if gone := sorted(both - await memories.existing_ids(db, list(both))):
        raise Conflict(f"Memory {gone[0]} was deleted. Restore it from the trash first.")


def _refusal(plan: UndoPlan) -> str:
    named = [each for each in plan.conflicts.values() if each][:MAX_NAMED]
    more = len(plan.conflicts) - len(named)
    rest = f"; and {more:,} more" if more else ""
    undoable = f" {REST}" if plan.restore or plan.discard or plan.revert else ""
    return f"Nothing was undone. {'; '.join(named)}{rest}.{undoable}"


async def _begin_undo(db: Database, act: JournalEntry, *, now: datetime) -> int:
    about: dict[str, Any] = {
        name: getattr(act, name) for name in ("memory_id", "review_id", "service")
    }
    async with writing(db):
        return await journal.insert(db, journal.UNDO, undoes=act.id, now=now, **about)


async def _apply_plan(
    db: Database, act: JournalEntry, plan: UndoPlan, number: int, *, now: datetime
) -> list[int]:
    reason, alone = act_undo_reason(act.id), act.memory_id is not None
    restored, deleted = (
        ChangeOrigin(cause=cause, actor=OPERATOR, reason=reason, act_id=number)
        for cause in (RESTORED, DELETED)
    )
    restore = partial(trash.restore, db, why=restored, now=now, alone=alone)

    async def discard(some: Sequence[int]) -> list[int]:
        unchanged = await _unchanged(db, some, plan.newest)
        return await trash.move(db, unchanged, deleted, now=now, alone=alone)

    ids = await in_batches(db, plan.restore, restore)
    ids += await in_batches(db, [each.memory_id for each in plan.discard], discard)
    await _restore_in_trash(db, plan.discard, now=now)
    if act.action in bulk.ACTS and not alone:
        revert = partial(bulk.undo, db, undoes=act.id, act=number, reason=reason, now=now)
        return ids + await in_batches(db, [each.first for each in plan.revert], revert)
    revert = partial(_revert_some, db, act=act, number=number, plan=plan, now=now)
    newest_first = sorted(plan.revert, key=lambda each: each.first, reverse=True)
    numbers = [each.memory_id for each in newest_first]
    return ids + await in_batches(db, numbers, revert, first=REVERTED_AT_ONCE)


async def _restore_in_trash(db: Database, made: Sequence[ActChanges], *, now: datetime) -> None:
    """Restore the original trash entry of memories that a restore had taken out of the trash."""
    async with writing(db):
        for each in made:
            if each.began == RESTORED:
                await trash.restore_deletion(db, each.memory_id, each.first, now=now)


async def _unchanged(db: Database, ids: Sequence[int], newest: int) -> list[int]:
    """Return those of some memories that have not changed after entry `newest`."""
    changed = await history.changed_after(db, ids, newest)
    return [each for each in ids if each not in changed]


async def _revert_some(
    db: Database,
    ids: Sequence[int],
    *,
    act: JournalEntry,
    number: int,
    plan: UndoPlan,
    now: datetime,
) -> list[int]:
    """Undo the changes of an act to some memories.

    Memories that have changed meanwhile stay unchanged, as do those whose topic key was taken.
    """
    unchanged = await _unchanged(db, ids, plan.newest)
    reverted = []
    for each in unchanged:
        if await _revert_memory(db, each, act.id, number, exact=plan.exact, now=now):
            reverted.append(each)
    if act.action == IMPORT:
        await imports.forget_texts(db, reverted)
    return reverted


async def _revert_memory(
    db: Database, memory_id: int, act: int, number: int, *, exact: bool, now: datetime
) -> bool:
    """Undo the changes of an act to one memory, step by step, the last one first.

    Return False if another memory has its topic key; raises Conflict if the undo is `exact`.
    """
    memory = await memories.get(db, MemoryId(memory_id))
    assert memory is not None  # else it would have changed since
    current, changes = memory, list[MemoryChange]()
    for step in reversed(await history.of_act(db, memory_id, act)):
        before = restore_before(memory, step)
        why = ChangeOrigin(cause=UNDONE, actor=OPERATOR, reason=undo_reason(step), act_id=number)
        changes.append(MemoryChange(memory, before, why))
        memory = before
    holder = await find_key_holder(db, current, memory)
    if holder is not None and exact:
        raise Conflict(f"Nothing was undone. {KEY_TAKEN.format(memory_id, holder)}.")
    if holder is None:
        await store(db, changes, now=now)
    return holder is None


async def _undo_related(db: Database, act: JournalEntry, *, now: datetime) -> int:
    """Undo the changes of an act to rows other than memories; return how many."""
    async with writing(db):
        changed = await graph.undo(db, act.id, now=now)
        if act.action in LINKING:
            await journal.unlink(db, act.id)
    if changed:
        return changed
    if act.review_id is not None:
        review = await reviews.get(db, act.review_id)
        assert review is not None
        await journal.unlink(db, act.id)
        await reviews.reopen(db, review, now=now)
        return 1
    if (act.subject or "").startswith(PROMPT):
        return await _restore_prompt(db, int(str(act.subject).removeprefix(PROMPT)), now=now)
    if act.service is None:
        return 0
    uses = await cooldowns.restore(db, act.id, now=now)
    text = f"An operator undid a reset of cooldowns; uses restored: {len(uses)}."
    service = uses[0].service if uses else act.service
    await events.insert(db, Level.INFO, text, service=service, source="operator", now=now)
    return len(uses)


async def _restore_prompt(db: Database, number: int, *, now: datetime) -> int:
    """Restore a prompt, the transcript message that repeats it, and its quote in the summary."""
    async with writing(db):
        prompt = await client_prompts.restore(db, number)
        if prompt is None:
            raise Conflict(f"Nothing was undone. Prompt {number} was deleted permanently.")
        await transcripts.restore(db, prompt)
        await interactive_sessions.replace_quote(
            db, prompt.session_id, withdrawn_quote(number), prompt.content, now=now
        )
    return 1
