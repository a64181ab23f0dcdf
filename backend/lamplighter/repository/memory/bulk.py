"""Acts of an operator on many memories, with the result of a separate change of each row."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    INITIAL_CONFIDENCE,
    MEMORY_FIELDS,
    OPERATIONAL,
    REVERSIBLE,
    Category,
    InactiveReason,
    MemoryKind,
    Source,
    Trust,
    clamp,
    kind_of,
)
from lamplighter.repository.access.journal import is_in_effect
from lamplighter.repository.memory.history import HISTORY_FIELDS, ChangeOrigin
from lamplighter.repository.memory.memories import ENTITY, MemoryFilter, conditions, list_by_ids
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import (
    NUMBER,
    InIdList,
    IsBlob,
    JsonFlag,
    JsonObject,
    JsonValue,
    Stamp,
    UTCDateTime,
)
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import CONFIDENCE, history, memories, unindexed

Values = Mapping[str, Any]


def bind(name: str, kind: Any) -> sa.BindParameter[Any]:
    """Return a parameter whose value is passed when the statement runs."""
    return sa.bindparam(name, type_=kind, required=False)


NOW: Final = bind("now", UTCDateTime)
IDS: Final = bind("ids", sa.Text)
CHOSEN: Final = InIdList(memories.c.id, IDS)
_HISTORY_COLUMNS: Final = (
    *("memory_id", "version", "at", "actor", "cause", "reason", "before", "after", "act_id"),
)


def canonical(column: Any) -> sa.ColumnElement[str]:
    """Return a moment in the stored text form; NULL for a rare form written outside the app."""
    text = sa.type_coerce(column, Stamp)
    rest = sa.func.substr(text, 20)
    day, time = sa.func.substr(text, 1, 10), sa.func.substr(text, 12, 8)
    whole = day.concat("T").concat(time)
    usual = text.like("____-__-__T__:__:__%") | text.like("____-__-__ __:__:__%")
    return sa.case(
        (text.like("____-__-__T__:__:__.______Z"), text),
        (sa.not_(usual), sa.null()),
        (rest.in_(["", "Z", "+00:00"]), whole.concat(".000000Z")),
        (rest.like(".___Z"), whole.concat(sa.func.substr(rest, 1, 4)).concat("000Z")),
        (rest.in_([".", ".Z"]), sa.null()),
        (
            rest.like(".______+00:00") | rest.like(".______"),
            whole.concat(sa.func.substr(rest, 1, 7)).concat("Z"),
        ),
        else_=sa.null(),
    )


def rounded(value: Any) -> sa.ColumnElement[float]:
    """Round a confidence to two decimals, and clamp it to [0, 1]."""
    clamped = sa.case((value < 0.0, 0.0), (value > 1.0, 1.0), else_=value)
    return sa.cast(sa.func.round(sa.cast(clamped, sa.Numeric), 2), CONFIDENCE)


_TEXTS: Final = ("observation", "service", "category", "title", "tags", "scope", "topic_key")
STAMP: Final = canonical(memories.c.updated_at)
ODD: Final = (
    STAMP.is_(None)
    | (memories.c.confidence != rounded(memories.c.confidence))
    | sa.or_(*(IsBlob(memories.c[name]) for name in _TEXTS))
)
"""Rows written outside the app in a form that the domain judges one by one."""


def with_confidence(confidence: Any) -> dict[str, Any]:
    """Return the values that follow from a confidence, as in the domain's `with_confidence`."""
    reason = memories.c.inactive_reason
    low = confidence < ACTIVE_THRESHOLD
    ours = reason.is_(None) | reason.in_(REVERSIBLE)
    return {
        "confidence": confidence,
        "active": sa.case((low, 0), (ours, 1), else_=memories.c.active),
        "inactive_reason": sa.case(
            (low, sa.func.coalesce(reason, InactiveReason.LOW)), (ours, sa.null()), else_=reason
        ),
    }


def state_of(values: Values) -> JsonObject:
    """Build the state of a row for a history entry, in the shape of `history.state`."""
    now = {"updated_at": STAMP, **values}
    pairs = [(name, now.get(name, memories.c[name])) for name in HISTORY_FIELDS]
    return JsonObject(
        *chain.from_iterable(_pair(name, _recorded(name, is_)) for name, is_ in pairs)
    )


def _recorded(name: str, value: Any) -> Any:
    kind = MEMORY_FIELDS[name].value_type
    if kind is bool:
        return JsonFlag(value)
    if kind is float:  # PostgreSQL would omit the decimal point of a whole number
        return sa.func.round(sa.cast(value, sa.Numeric), 2)
    return sa.type_coerce(value, sa.Text) if kind in (tuple, dict) else value


EMPTY_TEXT: Final = sa.literal("")
NULL: Final = sa.null()


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkHistory:
    """The history entries of an act on many rows."""

    cause: str
    actor: str
    reason: Any = EMPTY_TEXT
    act: Any = NULL

    def of(self, to: Values) -> sa.Select[Any]:
        """Select one entry per row."""
        cause, actor = sa.literal(self.cause), sa.literal(self.actor)
        states = (state_of({}), state_of(to))
        return sa.select(
            *(memories.c.id, memories.c.version + 1, NOW, actor, cause, self.reason),
            *(*states, self.act),
        )


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """The number of rows that a change affects, and how many become inactive and active."""

    changed: int
    falling: int
    rising: int


@dataclass(frozen=True, slots=True)
class BulkChange:
    """A change of many rows: the conditions of the affected rows, and their new values.

    `sure` is for a change that affects all chosen rows: it does not check each row again.
    """

    record: Statement
    sure: Sequence[Statement]
    careful: Sequence[Statement]
    by_id: bool
    survey: Statement

    async def foresee(self, db: Database, ids: Sequence[int], **more: Any) -> ChangeCounts:
        """Return the counts of what `do` would change, without changing anything."""
        (row,) = await db.fetch_all(self.survey(ids=ids_as_json(ids), **more))
        return ChangeCounts(*(int(row[name]) for name in ("changed", "falling", "rising")))

    async def do(
        self, db: Database, ids: Sequence[int], *, now: datetime, **more: Any
    ) -> list[int]:
        """Change the affected rows among `ids`, and return their IDs; call it within `writing`."""
        values = {"ids": ids_as_json(ids), "now": now, **more}
        recorded = await db.execute(self.record(**values))
        if not recorded:
            return []
        sure = recorded == len(ids)
        *before, last = self.sure if sure else self.careful
        for statement in before:
            await db.execute(statement(**values))
        if sure and self.by_id:
            await db.execute(last(**values))
            changed = list(ids)
        else:
            changed = sorted(row["id"] for row in await db.fetch_all(last(**values)))
        await publish(db, changed, ChangeOp.UPDATED, now=now)
        return changed


def prepare_history(entry: BulkHistory, where: Sequence[Any], to: Values) -> sa.Insert:
    """Prepare the history entries for a change of the rows that match `where`."""
    return sa.insert(history).from_select(_HISTORY_COLUMNS, entry.of(to).where(*where))


def prepare_change(
    where: Sequence[Any],
    to: Values,
    entry: BulkHistory,
    *,
    chosen: Any = None,
    switches: Any = None,
) -> BulkChange:
    """Prepare a change of those of the chosen rows that match `where`.

    `chosen` selects the rows if the IDs are not their own; `switches` matches at least the rows
    that become active or inactive.
    """
    rows = (CHOSEN,) if chosen is None else chosen
    record = Statement(prepare_history(entry, (*rows, *where), to), long=True)
    by_id = chosen is None
    sure = _update_statements(rows, to, switches, returning=not by_id)
    careful = _update_statements((*rows, *where), to, switches, returning=True)
    return BulkChange(
        record, sure, careful, by_id, Statement(_select_counts((*rows, *where), to), long=True)
    )


def _select_counts(where: Sequence[Any], to: Values) -> sa.Select[Any]:
    held, then = memories.c.active, to.get("active", memories.c.active)
    falling, rising = (held == 1) & (then == 0), (held == 0) & (then == 1)
    sums = [
        sa.func.coalesce(sa.func.sum(sa.case((each, 1), else_=0)), 0) for each in (falling, rising)
    ]
    return sa.select(
        sa.func.count(memories.c.id).label("changed"),
        sums[0].label("falling"),
        sums[1].label("rising"),
    ).where(*where)


def _update_statements(
    where: Sequence[Any], to: Values, switches: Any, *, returning: bool
) -> list[Statement]:
    """Build the updates; `where` may depend on `active` only if `to` sets no confidence.

    Several indexes contain `active`, and SQLite rewrites them all for each row whose `active` is
    set, changed or not: only changed values are set.
    """
    statements: list[Any] = []
    values = dict(to)
    if "confidence" in to and "active" in to:
        switch = {name: values.pop(name) for name in ("active", "inactive_reason")}
        differs = [memories.c[name].is_distinct_from(value) for name, value in switch.items()]
        first = where if switches is None else (*where, switches)
        statements.append(sa.update(memories).where(*first, sa.or_(*differs)).values(**switch))
    update = sa.update(memories).where(*where).values(**values, version=memories.c.version + 1)
    statements.append(update.returning(memories.c.id) if returning else update)
    return [Statement(statement, long=True) for statement in statements]


async def publish(db: Database, ids: Sequence[int], op: ChangeOp, *, now: datetime) -> None:
    """Publish one change of many rows in the feed."""
    if ids:
        if op is ChangeOp.UPDATED:
            from lamplighter.repository.feed import indexing  # slow import, not needed by reads

            if len(ids) <= indexing.BATCH_SIZE:  # a search indexes larger batches
                await index_noted(db, ids)
        row = {"ids": list(ids), "op": op}
        await changes.append(db, ENTITY, 0, ChangeOp.BATCH, now=now, row=row)


def select_ids_by_key(key: Any, *where: Any, limit: int | None = None) -> sa.Select[Any]:
    """Select the IDs of the rows that match `where`, each with a key."""
    rows = sa.select(key.label("key"), memories.c.id).where(*where).limit(limit).subquery()
    keys, ids = (
        sa.func.aggregate_strings(sa.cast(each, sa.Text), ",") for each in (rows.c.key, rows.c.id)
    )
    query: Any = sa.select(keys.label("keys"), ids.label("ids"))
    return query  # type: ignore[no-any-return]


async def fetch_ids_by_key(db: Database, query: Any) -> dict[int, list[int]]:
    """Return the IDs that a query by `select_ids_by_key` finds, by key."""
    row = await db.fetch_one(query)
    lists: dict[int, list[int]] = {}
    if row is not None and row["ids"]:
        for key, number in zip(row["keys"].split(","), row["ids"].split(","), strict=True):
            lists.setdefault(int(key), []).append(int(number))
    return {key: sorted(lists[key]) for key in sorted(lists)}


def ids_as_json(ids: Sequence[int]) -> str:
    """Format IDs as the JSON list for `IDS`."""
    return json.dumps(list(ids), separators=(",", ":"))


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    return sa.literal_column(f"'{name}'", sa.Text), value


async def index_noted(db: Database, ids: Sequence[int]) -> None:
    """Index those of some memories that a bulk statement changed."""
    noted = sa.delete(unindexed).where(unindexed.c.id.in_(ids)).returning(unindexed.c.id)
    changed = await db.fetch_all(noted) if ids else []
    if changed:
        from lamplighter.repository.feed import indexing

        await indexing.index_memories(db, await list_by_ids(db, [row["id"] for row in changed]))


OPERATOR: Final = "operator"

_COLUMNS: Final = memories.c
_ACT: Final = bind("act", NUMBER)
_UNDOES: Final = bind("undoes", NUMBER)
_VALUE: Final = bind("value", CONFIDENCE)
_ADJUSTED: Final = rounded(_COLUMNS.confidence + _VALUE)
_REASON: Final = bind("reason", sa.Text)
_BY_OPERATOR: Final = BulkHistory(cause="edited", actor=OPERATOR, reason=_REASON, act=_ACT)
_CONFIRM: Final = {"updated_at": NOW, "decayed_weeks": sa.literal(0, NUMBER)}
_DEACTIVATE: Final = {
    "active": sa.literal(0, NUMBER),
    "inactive_reason": sa.literal(InactiveReason.OPERATOR, sa.Text),
}
_EXPIRED: Final = _COLUMNS.inactive_reason == InactiveReason.EXPIRED.value
_ACTIVATE: Final = {
    "active": sa.literal(1, NUMBER),
    "inactive_reason": sa.null(),
    "updated_at": sa.case((_EXPIRED, NOW), else_=STAMP),
    "expires_at": sa.case((_EXPIRED, sa.null()), else_=_COLUMNS.expires_at),
}
_OPERATIONAL: Final = _COLUMNS.category.in_([each.value for each in OPERATIONAL])
_LOW: Final = _COLUMNS.confidence < INITIAL_CONFIDENCE
_KIND: Final = sa.case(
    *((_COLUMNS.category == each.value, kind_of(each).value) for each in Category),
    else_=MemoryKind.SEMANTIC.value,
)
_CAPTURED: Final = (_COLUMNS.kind == MemoryKind.EPISODIC.value) | (
    _COLUMNS.source == Source.OWNER.value
)
_TRUST: Final = {
    **_CONFIRM,
    "trust": sa.literal(Trust.TRUSTED.value, sa.Text),
    "confidence": sa.case((~_OPERATIONAL & _LOW, INITIAL_CONFIDENCE), else_=_COLUMNS.confidence),
    "distilled": sa.case((_OPERATIONAL, _COLUMNS.distilled), else_=1),
    "kind": sa.case((~_OPERATIONAL & _CAPTURED, _KIND), else_=_COLUMNS.kind),
}
"""The effect of the domain's `confirm`."""

ACTS: Final[dict[str, BulkChange]] = {
    "confidence": prepare_change((), {**with_confidence(_VALUE), **_CONFIRM}, _BY_OPERATOR),
    "adjust": prepare_change(
        (_COLUMNS.confidence != _ADJUSTED,),
        {**with_confidence(_ADJUSTED), **_CONFIRM},
        _BY_OPERATOR,
    ),
    "deactivate": prepare_change((_COLUMNS.active == 1,), _DEACTIVATE, _BY_OPERATOR),
    "activate": prepare_change(
        (_COLUMNS.active == 0, _COLUMNS.confidence >= ACTIVE_THRESHOLD), _ACTIVATE, _BY_OPERATOR
    ),
    "confirm": prepare_change(
        (_COLUMNS.active == 1, _COLUMNS.trust != Trust.TRUSTED.value), _TRUST, _BY_OPERATOR
    ),
}


async def matching(db: Database, *where: Any) -> tuple[list[int], list[int]]:
    """Return the memories that match `where`: the regular rows, then the odd rows."""
    lists = await fetch_ids_by_key(db, select_ids_by_key(sa.case((ODD, 1), else_=0), *where))
    return lists.get(0, []), lists.get(1, [])


def has_id_in(ids: Sequence[int]) -> Any:
    """Return the condition for the memories with these IDs."""
    return InIdList(_COLUMNS.id, sa.literal(ids_as_json(ids), sa.Text))


async def change(
    db: Database, ids: Sequence[int], action: str, value: float, *, act: int, now: datetime
) -> list[int]:
    """Apply an action to memories, and return those that it changed."""
    value, reason = _normalized_value(action, value), change_origin(act).reason
    return await ACTS[action].do(db, ids, value=value, act=act, reason=reason, now=now)


async def preview_change(
    db: Database, ids: Sequence[int], action: str, value: float
) -> ChangeCounts:
    """Return the counts of what `change` would do, without changing anything."""
    return await ACTS[action].foresee(db, ids, value=_normalized_value(action, value))


def _normalized_value(action: str, value: float) -> float:
    return clamp(value) if action == "confidence" else round(value, 2)


def change_origin(number: int) -> ChangeOrigin:
    """Return the origin that the history records for one row of a bulk act."""
    return ChangeOrigin(
        cause="edited", actor=OPERATOR, reason=f"part of bulk {number}", act_id=number
    )


async def count_too_low(db: Database, ids: Sequence[int]) -> int:
    """Return how many of these have too low a confidence to be activated."""
    return int(await db.fetch_val(_TOO_LOW(ids=ids_as_json(ids))))


def selection(chosen: Sequence[int] | MemoryFilter) -> list[Any]:
    """Return the conditions for the chosen memories."""
    return conditions(chosen, _COLUMNS) if isinstance(chosen, MemoryFilter) else [has_id_in(chosen)]


async def undo(
    db: Database, entries: Sequence[int], *, undoes: int, act: int, reason: str, now: datetime
) -> list[int]:
    """Undo the changes of an act, except in memories that changed again since.

    `entries` are the first changes of the act, one per memory.
    """
    return await _UNDO.do(db, entries, undoes=undoes, act=act, reason=reason, now=now)


def _before(name: str, kind: Any, *, flag: bool = False) -> Any:
    return JsonValue(history.c.before, name, kind, flag=flag)


_LATER: Final = history.alias("past")
_CHANGED_SINCE: Final = (
    sa.exists()
    .where(_LATER.c.memory_id == _COLUMNS.id, _LATER.c.id > history.c.id, is_in_effect(_LATER))
    .where(_LATER.c.act_id.is_distinct_from(_UNDOES))
)
_UNDO: Final = prepare_change(
    (~_CHANGED_SINCE, history.c.before.is_not(None)),
    {
        "confidence": _before("confidence", CONFIDENCE),
        "active": _before("active", NUMBER, flag=True),
        "inactive_reason": _before("inactive_reason", sa.Text),
        "updated_at": _before("updated_at", sa.Text),
        "decayed_weeks": _before("decayed_weeks", NUMBER),
        "trust": sa.func.coalesce(_before("trust", sa.Text), _COLUMNS.trust),
        "kind": sa.func.coalesce(_before("kind", sa.Text), _COLUMNS.kind),
        "distilled": sa.func.coalesce(_before("distilled", NUMBER, flag=True), _COLUMNS.distilled),
    },
    BulkHistory(cause="undone", actor=OPERATOR, reason=_REASON, act=_ACT),
    chosen=(InIdList(history.c.id, IDS), history.c.memory_id == _COLUMNS.id),
)
_TOO_LOW: Final = Statement(
    sa.select(sa.func.count())
    .select_from(memories)
    .where(CHOSEN, _COLUMNS.active == 0, _COLUMNS.confidence < ACTIVE_THRESHOLD),
    long=True,
)
