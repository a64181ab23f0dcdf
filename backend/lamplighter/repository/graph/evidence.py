"""Evidence for entities and relationships, synchronized with its sources."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from lamplighter.domain.errors import Conflict
from lamplighter.domain.graph.entity import (
    Claim,
    EntityKind,
    EvidenceSource,
    Extraction,
    NamedEntity,
)
from lamplighter.domain.graph.names import fold_name
from lamplighter.repository.graph import entities, relationships, rows
from lamplighter.repository.graph.cache import GraphCache
from lamplighter.repository.graph.entities import Place
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList
from lamplighter.repository.store.statements import Statement, has_row, prepare_insert
from lamplighter.repository.store.tables import aliases, graph_evidence, graph_steps
from lamplighter.repository.store.tables import entities as entities_table
from lamplighter.repository.store.tables import relationships as relationships_table

MENTIONED: Final = 0.7
OF_MEMORIES: Final = (EvidenceSource.MEMORY, EvidenceSource.MODEL)
"""The sources whose ID is the ID of a memory."""

_EV: Final = graph_evidence.c
_COLUMNS: Final = {"entity_id": entities_table, "relationship_id": relationships_table}

_BEGIN: Final = prepare_insert(
    graph_evidence, "source", "source_id", *_COLUMNS, "confidence", "created_at"
)

Target = tuple[str, int]
"""A row that has evidence: the column that references the row, and its ID."""


class _Stated(NamedTuple):
    """A row that a source states, as it was before, and with which confidence."""

    row: Any
    confidence: float

    @property
    def is_current(self) -> bool:
        """Whether more evidence of this confidence leaves the row as it is."""
        confidence = self.row.get("confidence", self.confidence)
        return self.row["valid_to"] is None and confidence == self.confidence


@dataclass(frozen=True, slots=True)
class Origin:
    """One source of evidence (a memory, an event or the services file), and its place."""

    source: EvidenceSource
    id: int
    place: Place


async def sync(
    db: Database,
    origin: Origin,
    extraction: Extraction,
    cache: GraphCache | None = None,
    *,
    now: datetime,
) -> None:
    """Make the graph match the current content of a source; call it within `writing`.

    A row that the source no longer states loses this evidence, and ends if it has no other.
    """
    cache = cache or GraphCache(db)
    targets = await _targets(db, origin, extraction, cache, now=now)
    stored = {_target(row): row for row in await cache.evidence_of(origin.source, origin.id)}
    ended = [
        target
        for target, row in stored.items()
        if target not in targets and row["ended_at"] is None
    ]
    begun = [
        target
        for target in targets
        if target not in stored or stored[target]["ended_at"] is not None
    ]
    for target in begun:
        await _begin(db, origin, target, stored.get(target), targets[target].confidence, now=now)
    if ended:
        ids = [stored[target]["id"] for target in ended]
        await db.execute(sa.update(graph_evidence).where(_EV.id.in_(ids)).values(ended_at=now))
    unbacked = [target for target in begun if not targets[target].is_current]
    await _refresh(db, [*unbacked, *ended], cache, now=now)


async def _begin(
    db: Database, origin: Origin, target: Target, held: Any, confidence: float, *, now: datetime
) -> None:
    if held is not None:
        again = {"ended_at": None, "confidence": confidence}
        await db.execute(sa.update(graph_evidence).where(_EV.id == held["id"]).values(**again))
        return
    values = {**dict.fromkeys(_COLUMNS), target[0]: target[1], "confidence": confidence}
    await db.execute(_BEGIN(source=origin.source, source_id=origin.id, created_at=now, **values))


async def _targets(
    db: Database, origin: Origin, extraction: Extraction, cache: GraphCache, *, now: datetime
) -> dict[Target, _Stated]:
    """Return the rows that a source states with their confidence, creating missing rows."""
    ends = [end for claim in extraction.claims for end in (claim.source, claim.target)]
    ids = await _entity_ids(db, origin, [*extraction.entities, *ends], cache, now=now)
    await _add_aliases(db, origin, extraction.aliases, cache, now=now)
    entities = await cache.rows(set(ids.values()))
    stated: dict[Target, _Stated] = {
        ("entity_id", number): _Stated(entities[number], MENTIONED) for number in ids.values()
    }
    for claim in extraction.claims:
        row = await _relationship(db, origin, claim, ids, cache, now=now)
        if row is not None:
            stated["relationship_id", row["id"]] = _Stated(row, claim.confidence)
    return stated


async def _entity_ids(
    db: Database, origin: Origin, named: Iterable[NamedEntity], cache: GraphCache, *, now: datetime
) -> dict[str, int]:
    """Return the entity of each folded name, creating missing entities."""
    by_name = {fold_name(each.name): each for each in reversed(list(named))}
    ids = await cache.owners(by_name, origin.place.project)
    for folded, each in by_name.items():
        if folded not in ids:
            made = await entities.insert(db, each, origin.place, origin.source, now=now)
            ids[folded] = made.id
            cache.add_name(each.name, origin.place.project, made.id)
        else:
            await _refine(db, ids[folded], each, cache, now=now)
    return {folded: ids[folded] for folded in by_name}


async def _refine(
    db: Database, number: int, each: NamedEntity, cache: GraphCache, *, now: datetime
) -> None:
    """Set an entity's kind if it was unknown, and add new properties; skip operators' entities."""
    row = (await cache.rows([number]))[number]
    if row["source"] == EvidenceSource.OPERATOR:
        return
    values: dict[str, Any] = {}
    if row["kind"] == EntityKind.CONCEPT and each.kind is not EntityKind.CONCEPT:
        values["kind"] = each.kind
    if each.properties:
        values["properties"] = {**row["properties"], **dict(each.properties)}
    if values:
        cache.put_row(await rows.update(db, entities_table, row, values, now=now, act=None))


async def _add_aliases(
    db: Database,
    origin: Origin,
    pairs: Collection[tuple[str, str]],
    cache: GraphCache,
    *,
    now: datetime,
) -> None:
    names = {name for pair in pairs for name in pair}
    held = await cache.owners(names, origin.place.project)
    for name, other in pairs:
        number, taken = held.get(fold_name(name)), held.get(fold_name(other))
        if number is None or taken is not None:
            continue
        entity = await entities.get(db, number)
        if entity is not None and entity.project == origin.place.project:
            with suppress(Conflict):
                await entities.add_name(db, entity, other, origin.source, now=now)
                cache.add_name(other, entity.project, number)


async def _relationship(
    db: Database,
    origin: Origin,
    claim: Claim,
    ids: dict[str, int],
    cache: GraphCache,
    *,
    now: datetime,
) -> Any:
    """Return the row of a relationship; None where there can be none."""
    named = (ids[fold_name(claim.source.name)], ids[fold_name(claim.target.name)])
    if named[0] == named[1]:
        return None
    row = await relationships.find(db, origin.place.project, claim.kind, *named)
    if row is None:
        roots = await entities.roots_of(db, named)
        ends = await cache.rows({*named, *roots.values()})
        if any(each["deleted_at"] is not None for each in ends.values()):
            return None  # an operator deleted the entity
        row = await relationships.insert(
            db,
            claim.kind,
            named,
            (roots[named[0]], roots[named[1]]),
            origin.place,
            origin.source,
            now=now,
            confidence=claim.confidence,
        )
    elif row["source"] == EvidenceSource.MODEL:  # no longer only inferred by a model
        values = {"source": origin.source}
        row = await rows.update(db, relationships_table, row, values, now=now, act=None)
    return row


async def _refresh(
    db: Database, targets: Collection[Target], cache: GraphCache, *, now: datetime
) -> None:
    """End what has no evidence any more, and bring back what has some again.

    What an operator created needs none.
    """
    for column, table in _COLUMNS.items():
        ids = [number for name, number in targets if name == column]
        if not ids:
            continue
        query = (
            sa.select(_EV[column], sa.func.max(_EV.confidence).label("confidence"))
            .where(_EV[column].in_(ids), _EV.ended_at.is_(None))
            .group_by(_EV[column])
        )
        backed = {row[column]: row["confidence"] for row in await db.fetch_all(query)}
        for row in await db.fetch_all(sa.select(table).where(table.c.id.in_(ids))):
            if row["source"] == EvidenceSource.OPERATOR:
                continue
            values: dict[str, Any] = {"valid_to": None if row["id"] in backed else now}
            if row["id"] not in backed and row["valid_to"] is not None:
                continue
            if "confidence" in table.c and row["id"] in backed:
                values["confidence"] = backed[row["id"]]
            after = await rows.update(db, table, row, values, now=now, act=None)
            if table is entities_table:
                cache.put_row(after)


async def memories_of_models(db: Database, ids: Collection[int]) -> set[int]:
    """Return the memories that have ever been evidence for a finding of a model."""
    return {row["source_id"] for row in await db.fetch_all(_OF_MODELS(ids=str(sorted(ids))))}


_OF_MODELS: Final = Statement(
    sa.select(_EV.source_id).where(
        _EV.source == EvidenceSource.MODEL,
        InIdList(_EV.source_id, sa.bindparam("ids", type_=sa.Text)),
    )
)


async def forget(db: Database, ids: Collection[int], *, now: datetime) -> None:
    """Remove rows whose only evidence was permanently deleted memories."""
    which = sa.and_(_EV.source.in_(OF_MEMORIES), _EV.source_id.in_(ids))
    gone = [_target(row) for row in await db.fetch_all(sa.select(graph_evidence).where(which))]
    await db.execute(sa.delete(graph_evidence).where(which))
    for column, table in reversed(_COLUMNS.items()):
        mine = [number for name, number in gone if name == column]
        for row in await db.fetch_all(sa.select(table).where(table.c.id.in_(mine))):
            created = row["source"] == EvidenceSource.OPERATOR
            if not created and not await has_row(db, _EV[column] == row["id"]):
                await _purge(db, table, row, now=now)


async def _purge(db: Database, table: sa.Table, row: Any, *, now: datetime) -> None:
    """Remove a row and every copy of its texts, unless relationships still refer to it."""
    if table is entities_table:
        ends = [relationships_table.c[end] for end in ("named_source_id", "named_target_id")]
        if await has_row(db, sa.or_(*(end == row["id"] for end in ends))):
            return
        await db.execute(sa.delete(aliases).where(aliases.c.entity_id == row["id"]))
    steps = sa.and_(graph_steps.c.table_name == table.name, graph_steps.c.row_id == row["id"])
    await db.execute(sa.delete(graph_steps).where(steps))
    await rows.remove(db, table, row, now=now)


async def list_for(db: Database, targets: Collection[Target], *, limit: int) -> list[Any]:
    """Return the open evidence of entities and relationships, the newest first."""
    groups = [
        _EV[column].in_([number for name, number in targets if name == column])
        for column in _COLUMNS
    ]
    query = sa.select(graph_evidence).where(sa.or_(*groups), _EV.ended_at.is_(None))
    return list(await db.fetch_all(query.order_by(_EV.id.desc()).limit(limit)))


def _target(row: Any) -> Target:
    return next((name, row[name]) for name in _COLUMNS if row[name] is not None)
