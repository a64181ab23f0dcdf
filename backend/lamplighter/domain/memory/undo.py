"""Undo of one step of a memory's history, also after later changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.intents import HistoryRecord
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    MEMORY_FIELDS,
    InactiveReason,
    Memory,
    clamp,
    kind_of,
)
from lamplighter.domain.text import content_hash

UNDONE: Final = "undone"
REVIEW: Final = "review"
UNDOING: Final = (UNDONE, REVIEW)
"""The causes of steps that may revert an earlier one; their reason names that step."""

FADED: Final = "faded"
FADES_AGAIN: Final = "it will decay again at the next session unless you set its confidence"

SETTINGS: Final = {
    name: each.declared.undo for name, each in MEMORY_FIELDS.items() if each.declared.undo
}
_FIELD_NAMES: Final = {**SETTINGS, "active": "state"}

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MemoryUndo:
    """A memory without a step of its history; `left` names the fields that later steps changed."""

    memory: Memory
    left: tuple[str, ...] = ()


def undo(memory: Memory, step: HistoryRecord, later: Sequence[HistoryRecord]) -> MemoryUndo:
    """Revert a step's changes; returns the same memory if nothing is left to revert.

    `later` are the steps after it. Raises Conflict for a step that cannot be undone at all. Undoing
    its creation makes a memory inactive and does not delete it.
    """
    if step.after is None:
        raise Conflict("This step cannot be undone here. Restore a deleted memory from the trash.")
    by = find_undo(step, later)
    if by is not None:
        raise Conflict(
            f"This step was already undone in version {by.version}. Undo that version instead."
        )
    if step.before is None:
        reason = InactiveReason.OPERATOR
        inactive = replace(memory, active=False, inactive_reason=reason)
        return MemoryUndo(_next_version(memory, inactive if memory.active else memory))
    before, after = _parse_values(step.before), _parse_values(step.after)
    put, left = _undo_settings(memory, before, after)
    if put or not left:
        put |= _undo_clock(memory, before, after)
    if not left:
        put |= _undo_kind(memory, before, after)
    if "category" in put:
        put["kind"] = before.get("kind") or kind_of(put["category"])
    strength, stays = _undo_strength(memory, before, after)
    return MemoryUndo(
        _next_version(memory, _with_values(memory, {**put, **strength})), (*left, *stays)
    )


def can_undo(memory: Memory | None, step: HistoryRecord, later: Sequence[HistoryRecord]) -> bool:
    """Whether any part of a step can be undone; `memory` None is a deleted one."""
    try:
        return memory is not None and undo(memory, step, later).memory != memory
    except Conflict:
        return False


def undo_reason(step: HistoryRecord) -> str:
    """Return the beginning of the reason for the undo of a step."""
    return f"undoes {step.cause} of version {step.version}"


def recorded_reason(step: HistoryRecord, before: Memory, after: Memory) -> str:
    """Return the recorded reason of an undo: the step, and its effect."""
    weeks = before.decayed_weeks - after.decayed_weeks
    due = step.cause == FADED and weeks > 0 and not after.pinned
    return f"{undo_reason(step)}; {FADES_AGAIN}" if due else undo_reason(step)


def act_undo_reason(act_id: int) -> str:
    """Return the reason that the undo of an operator's act records in each memory."""
    return f"undoes act {act_id}"


def restore_before(memory: Memory, step: HistoryRecord) -> Memory:
    """Return a memory as it was before a step, as a new version."""
    assert step.before is not None
    return replace(with_state(memory, step.before), version=memory.version + 1)


def with_state(memory: Memory, stored: Mapping[str, Any]) -> Memory:
    """Return a memory as an entry of its history describes it."""
    return _with_values(memory, _parse_values(stored))


def follow(memory: Memory, step: HistoryRecord) -> Memory:
    """Return a memory after a step that was made from another state of it.

    The step sets the fields it changed; an undo adds or subtracts confidence instead of setting it.
    """
    assert step.before is not None
    assert step.after is not None
    before, after = _parse_values(step.before), _parse_values(step.after)
    changed = {name for name in after if _differs(name, before, after)}
    for name, others in _TOGETHER.items():
        changed |= others & after.keys() if name in changed else set()
    values = {name: after[name] for name in changed}
    if step.cause in UNDOING and "confidence" in changed:
        by = after["confidence"] - before["confidence"]
        confidence = clamp(memory.confidence + by)
        held = (memory.active, memory.inactive_reason)
        active, reason = _apply_threshold(confidence, *held)
        values |= {"confidence": confidence, "active": active, "inactive_reason": reason}
    return _with_values(memory, values)


_TOGETHER: Final = {
    "confidence": {"active", "inactive_reason"},
    "active": {"inactive_reason"},
    "updated_at": {"decayed_weeks"},
}
"""The fields that a step sets together with a changed field, whether they differed or not."""


def find_undo(step: HistoryRecord, later: Sequence[HistoryRecord]) -> HistoryRecord | None:
    """Return the undo of a step; there is at most one, and that undo can be undone in turn."""
    reasons = {undo_reason(step)}
    if step.act_id is not None:
        # before the journal, an act on many memories was called a bulk
        reasons |= {act_undo_reason(step.act_id), f"undoes bulk {step.act_id}"}
    undoing = (each for each in later if each.cause in UNDOING and each.id > step.id)
    return next((each for each in undoing if each.reason.partition(";")[0] in reasons), None)


def step_to_undo(step: HistoryRecord, later: Sequence[HistoryRecord]) -> HistoryRecord | None:
    """Return the step to undo to cancel the effect of a step; None if it has no effect now.

    This is the step itself, or the undo of its undo.
    """
    while (undone := find_undo(step, later)) is not None:
        again = find_undo(undone, later)
        if again is None:
            return None
        step = again
    return step


def undo_obstacle(left: Sequence[str], later: Sequence[HistoryRecord]) -> str:
    """Explain what blocks an undo."""
    if not left:
        return "Later changes already reverted this step."
    what = " and ".join(_FIELD_NAMES[name] for name in left)
    changes = [
        each
        for each in later
        if any(_differs(name, each.before or {}, each.after or {}) for name in left)
    ]
    if not changes:
        return f"The {what} was changed again after this step."
    last = max(changes, key=lambda each: each.id)
    return f"The {what} was changed again after this step: {last.cause}, version {last.version}."


def _undo_settings(memory: Memory, before: Values, after: Values) -> tuple[Values, tuple[str, ...]]:
    changed = [name for name in SETTINGS if _differs(name, before, after)]
    put = {name: before[name] for name in changed if getattr(memory, name) == after[name]}
    left = [name for name in changed if getattr(memory, name) not in (before[name], after[name])]
    return put, tuple(left)


def _undo_clock(memory: Memory, before: Values, after: Values) -> Values:
    """Return the time of the last confirmation, and the weeks of decay since then, without a step.

    Weeks subtracted after the step remain subtracted.
    """
    if "updated_at" not in after or memory.updated_at != after["updated_at"]:
        return {}
    weeks = memory.decayed_weeks + before["decayed_weeks"] - after["decayed_weeks"]
    return {"updated_at": before["updated_at"], "decayed_weeks": max(0, weeks)}


def _undo_kind(memory: Memory, before: Values, after: Values) -> Values:
    """Return the values that follow the text: kind, distillation and revision count.

    Later revisions still count.
    """
    put = {
        name: before[name]
        for name in ("kind", "distilled")
        if _differs(name, before, after) and getattr(memory, name) == after[name]
    }
    if _differs("revision_count", before, after):
        count = memory.revision_count + before["revision_count"] - after["revision_count"]
        put["revision_count"] = max(1, count)
    return put


def _undo_strength(memory: Memory, before: Values, after: Values) -> tuple[Values, tuple[str, ...]]:
    """Return the confidence and activity without a step, and the fields that remain as they are."""
    by = after["confidence"] - before["confidence"]
    previous, current = ((each["active"], each["inactive_reason"]) for each in (before, after))
    if not by and previous == current:
        return {}, ()
    confidence = clamp(memory.confidence - by)
    if memory.confidence == after["confidence"]:
        confidence = before["confidence"]
    held = (memory.active, memory.inactive_reason)
    put_back = previous != current and held == current
    active, reason = _apply_threshold(confidence, *(previous if put_back else held))
    found = {"confidence": confidence, "active": active, "inactive_reason": reason}
    return found, () if by or put_back or held == previous else ("active",)


def _apply_threshold(
    confidence: float, active: bool, reason: InactiveReason | None
) -> tuple[bool, InactiveReason | None]:
    """Apply the threshold of 0.30, unless the memory is inactive for another reason."""
    low = confidence < ACTIVE_THRESHOLD
    if active and low:
        return False, InactiveReason.LOW
    if reason is InactiveReason.LOW and not low:
        return True, None
    return active, reason


def _with_values(memory: Memory, values: Values) -> Memory:
    back = replace(memory, **values)
    if back.observation != memory.observation:
        back = replace(back, content_hash=content_hash(back.observation))
    return back


def _next_version(before: Memory, after: Memory) -> Memory:
    return after if after == before else replace(after, version=before.version + 1)


def _differs(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return name in before and name in after and before[name] != after[name]


def _parse_values(stored: Mapping[str, Any]) -> Values:
    """Parse a history entry; entries of earlier versions have fewer fields."""
    low = stored["confidence"] < ACTIVE_THRESHOLD
    reason = InactiveReason.LOW if low else InactiveReason.OPERATOR
    given = {"inactive_reason": None if stored["active"] else reason, **stored}
    return {name: _parse_value(name, value) for name, value in given.items()}


def _parse_value(name: str, value: Any) -> Any:
    field = MEMORY_FIELDS.get(name)
    if field is None or value is None:
        return value
    if field.value_type is datetime:
        return datetime.fromisoformat(value)
    convert = field.choices or {bool: bool, tuple: tuple}.get(field.value_type)
    return value if convert is None else convert(value)
