"""Queries on outcome records, on learned facts, and on declarations."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.learning.facts import LearnedFact
from lamplighter.domain.learning.outcome import OutcomeRecord
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows
from lamplighter.repository.store.tables import declarations, learned_facts, outcomes, reader

MAX_RECORDS: Final = 500
"""The maximum number of outcomes of a service that are read, the newest."""


async def insert(db: Database, record: OutcomeRecord) -> OutcomeRecord:
    """Store the outcome of an action in an incident."""
    values = asdict(record)
    del values["id"]
    values |= {"check_name": values.pop("check"), "context": dict(record.context)}
    statement = sa.insert(outcomes).values(**values).returning(outcomes.c.id)
    return replace(record, id=int(await db.fetch_val(statement)))


async def remove(db: Database, incident_id: int) -> None:
    """Remove the outcomes of an incident that is open again."""
    await db.execute(sa.delete(outcomes).where(outcomes.c.incident_id == incident_id))


async def of_service(db: Database, service: str) -> list[OutcomeRecord]:
    """Return the outcomes of incidents with a service as their root, oldest first."""
    query = (
        sa.select(outcomes)
        .where(sa.func.lower(outcomes.c.service) == service.lower())
        .order_by(outcomes.c.id.desc())
        .limit(MAX_RECORDS)
    )
    return [_records.read(row) for row in await db.fetch_all(query)][::-1]


async def of_incident(db: Database, incident_id: int) -> list[OutcomeRecord]:
    """Return the outcomes of one incident, oldest first."""
    return await _records.oldest(db, outcomes.c.incident_id == incident_id)


async def facts_of(db: Database, *services: str) -> list[LearnedFact]:
    """Return the facts that were learned about some services, the newest memory first."""
    query = (
        sa.select(learned_facts)
        .where(sa.func.lower(learned_facts.c.service).in_([each.lower() for each in services]))
        .order_by(learned_facts.c.memory_id.desc())
    )
    return await _facts.fetch(db, query)


async def fact_of(db: Database, memory_id: int) -> LearnedFact | None:
    """Return the learned fact behind a memory, or None."""
    return await _facts.one(db, learned_facts.c.memory_id == memory_id)


async def put_fact(db: Database, fact: LearnedFact, before: LearnedFact | None) -> None:
    """Store the learned fact behind a memory, replacing the previous fact."""
    numbers = {fact.memory_id, before.memory_id if before else fact.memory_id}
    await db.execute(sa.delete(learned_facts).where(learned_facts.c.memory_id.in_(numbers)))
    await db.execute(sa.insert(learned_facts).values(**asdict(fact)))


async def declared(db: Database) -> dict[str, str]:
    """Return the key of the last declaration of each service."""
    found = await db.fetch_all(sa.select(declarations))
    return {row["service"]: row["configured"] for row in found}


async def put_declared(db: Database, keys: Mapping[str, str]) -> None:
    """Store the declaration keys of some services, replacing the previous keys."""
    await db.execute(sa.delete(declarations).where(declarations.c.service.in_(list(keys))))
    rows = [{"service": name, "configured": key} for name, key in keys.items()]
    await db.execute(sa.insert(declarations).values(rows))


_records: Final = Rows(outcomes, reader(OutcomeRecord))
_facts: Final = Rows(learned_facts, reader(LearnedFact))
