"""A cache of the graph for one transaction: names, entities and evidence."""

from collections.abc import Collection, Iterable
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.graph.entity import EVERYWHERE, EvidenceSource
from lamplighter.domain.graph.names import fold_name
from lamplighter.repository.graph.entities import BY_IDS
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList, InTextList, Json
from lamplighter.repository.store.statements import Statement, one_of
from lamplighter.repository.store.tables import aliases, graph_evidence

_EV: Final = graph_evidence.c
_NAMES: Final = Statement(
    sa.select(aliases.c.folded, aliases.c.project, aliases.c.entity_id)
    .where(InTextList(aliases.c.folded, sa.bindparam("names", type_=sa.Text)))
    .where(one_of(aliases.c.project, (sa.bindparam("place"), EVERYWHERE)))
)
_OF_SOURCES: Final = Statement(
    sa.select(graph_evidence)
    .where(_EV.source == sa.bindparam("of"))
    .where(InIdList(_EV.source_id, sa.bindparam("ids", type_=sa.Text)))
    .order_by(_EV.id)
)


class GraphCache:
    """Reads names, entities and evidence of many sources at once.

    For one writing transaction, in which only its owner changes the graph.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._owners: dict[str, dict[str, int]] = {EVERYWHERE: {}}
        self._read: dict[str, set[str]] = {}
        self._entities: dict[int, Any] = {}
        self._evidence: dict[tuple[str, int], list[Any]] = {}

    async def owners(self, names: Iterable[str], project: str) -> dict[str, int]:
        """Return the entity that owns each folded name in a project, else globally."""
        folded = dict.fromkeys(map(fold_name, names))
        folded.pop("", None)
        await self._load_names(folded, project)
        own = self._owners.get(project, {})
        known = {**self._owners[EVERYWHERE], **own} if own else self._owners[EVERYWHERE]
        return {name: known[name] for name in folded if name in known}

    async def _load_names(self, folded: Iterable[str], project: str) -> None:
        read = self._read.setdefault(project, set())
        if unread := [each for each in folded if each not in read]:
            read.update(unread)
            for row in await self._db.fetch_all(_NAMES(names=Json.written(unread), place=project)):
                self.add_name(row["folded"], row["project"], row["entity_id"])

    def add_name(self, name: str, project: str, entity_id: int) -> None:
        """Record a name that was just added to an entity."""
        self._owners.setdefault(project, {})[fold_name(name)] = entity_id

    async def rows(self, ids: Collection[int]) -> dict[int, Any]:
        """Return the rows of entities, ordered by ID."""
        unread = [each for each in ids if each not in self._entities]
        if unread:
            found = await self._db.fetch_all(BY_IDS(ids=str(unread)))
            self._entities |= {row["id"]: row for row in found}
        return {each: self._entities[each] for each in sorted(ids) if each in self._entities}

    def put_row(self, row: Any) -> None:
        """Record the row of an entity that was just written."""
        self._entities[row["id"]] = row

    async def load_evidence(self, source: EvidenceSource, ids: Collection[int]) -> None:
        """Read the evidence of several sources at once."""
        self._evidence |= {(source, each): [] for each in ids}
        for row in await self._db.fetch_all(_OF_SOURCES(of=source, ids=str(list(ids)))):
            self._evidence[source, row["source_id"]].append(row)

    async def evidence_of(self, source: EvidenceSource, number: int) -> list[Any]:
        """Return the evidence of one source before its first change in this transaction."""
        if (source, number) not in self._evidence:
            await self.load_evidence(source, [number])
        return self._evidence.pop((source, number))
