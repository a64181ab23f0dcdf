"""The graph follows stored memories: facts end and return with their evidence."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from contexts import NOON, WINDOW, context, learning
from lamplighter.domain.graph.entity import EntityKind
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, Reach, Source
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import IncidentSource, IncidentState
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database, writing
from lamplighter.repository.graph import entities, evidence, position, relationships
from lamplighter.repository.graph.entities import EntityFilter
from lamplighter.repository.graph.relationships import RelationshipFilter
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.services import events, incidents
from lamplighter.repository.store.tables import changes
from lamplighter.repository.store.tables import entities as entity_table
from lamplighter.usecases.access.recording import recorded
from lamplighter.usecases.graph import edit, view
from lamplighter.usecases.graph import follow as following
from lamplighter.usecases.graph.follow import follow
from lamplighter.usecases.memory import bulk, curate, journal, knowledge
from lamplighter.usecases.memory.bulk import BulkAction
from lamplighter.usecases.memory.remember import remember

NOTHING = Services()


async def catch_up(db: Database, services: Services | None = None) -> None:
    while await follow(db, services, now=NOON):
        pass


async def save(db: Database, text: str, **more: Any) -> Memory:
    given = {"category": Category.DISCOVERY, "project": "shop", "source": Source.CLIENT, **more}
    candidate = Candidate(service=None, observation=text, tier=0, session_id=None, **given)
    return (await knowledge.save(context(db), candidate, window=WINDOW)).memory


async def facts(db: Database, **more: Any) -> set[tuple[str, str, str]]:
    page = await relationships.page(db, RelationshipFilter(**more), limit=100)
    ends = {end for each in page.items for end in (each.source_id, each.target_id)}
    held = await entities.by_ids(db, ends)
    return {
        (held[each.source_id].name, each.kind.value, held[each.target_id].name)
        for each in page.items
    }


FACT = ("checkout", "uses", "Redis")


async def test_relationship_has_the_stating_memories_as_evidence(db: Database) -> None:
    memory = await save(db, "The checkout service uses Redis.")
    again = await save(db, "Ann says so. The checkout service uses redis for carts.")
    await catch_up(db)

    assert await facts(db) == {FACT}
    case = await view.entity_case(db, await view.find_entity(db, "redis"))
    [edge] = case.relationships
    assert {each.id for each in case.evidence[edge.id]} == {memory.id, again.id}
    assert (edge.project, edge.valid_from, edge.valid_to) == ("shop", NOON, None)


async def test_relationship_remains_if_a_later_memory_states_it(db: Database) -> None:
    memory = await save(db, "The checkout service uses Redis.")
    await catch_up(db)

    edited = Edit(observation="The checkout service is slow.")
    await curate.edit(context(db), memory.id, edited, version=None)
    await save(db, "The checkout service uses Redis for carts.")
    await catch_up(db)

    assert await facts(db) == {FACT}
    names = await entities.page(db, EntityFilter(), limit=100)
    assert {each.name for each in names.items} == {"checkout", "Redis"}


async def test_relationships_end_with_their_memory_and_return_with_its_undo(db: Database) -> None:
    memory = await save(db, "The checkout service uses Redis.")
    await catch_up(db)

    await curate.delete(db, memory.id, version=None, now=NOON)
    deletion = recorded.get() or 0
    await catch_up(db)
    assert await facts(db) == set()
    assert await facts(db, current=False) == {FACT}
    assert await entities.count(db, EntityFilter()) == 0

    await journal.undo(db, deletion, now=NOON)
    await catch_up(db)
    assert await facts(db) == {FACT}
    assert await entities.count(db, EntityFilter()) == 2


async def test_edit_of_a_memory_replaces_its_relationships(db: Database) -> None:
    memory = await save(db, "The checkout service uses Redis.")
    await catch_up(db)

    change = Edit(observation="The checkout service uses Valkey.")
    await curate.edit(context(db), memory.id, change, version=None)
    await catch_up(db)
    assert await facts(db) == {("checkout", "uses", "Valkey")}

    await journal.undo(db, recorded.get() or 0, now=NOON)
    await catch_up(db)
    assert await facts(db) == {FACT}


async def test_relationship_ends_with_its_last_memory(db: Database) -> None:
    one = await save(db, "The checkout service uses Redis.")
    two = await save(db, "Carts are small. The checkout service uses Redis.")
    await catch_up(db)

    for memory, left in ((one, {FACT}), (two, set())):
        await knowledge.withdraw_memory(db, memory.id, now=NOON)
        await catch_up(db)
        assert await facts(db) == left


async def test_purged_memory_leaves_no_text_in_the_graph(db: Database) -> None:
    secret = await save(db, "We decided to use Zanzibar because auditors asked.")
    await catch_up(db)
    assert await entities.count(db, EntityFilter(kind=EntityKind.DECISION)) == 1

    await curate.delete(db, secret.id, version=None, now=NOON)
    await catch_up(db)
    await journal.purge(db, secret.id, now=NOON)
    await catch_up(db)

    assert await db.fetch_all(sa.select(entity_table)) == []
    kept = await db.fetch_all(sa.select(changes.c.row).where(changes.c.row.contains("anzibar")))
    assert kept == []


async def test_entity_deleted_by_an_operator_is_not_recreated(db: Database) -> None:
    memory = await save(db, "The checkout service uses Redis.")
    await catch_up(db)
    redis = await view.find_entity(db, "redis")

    await edit.delete_entity(context(db), redis.id, version=None)
    await curate.edit(context(db), memory.id, Edit(confidence=0.9), version=None)
    await save(db, "Reports were slow. The checkout service uses Redis.")
    await save(db, "The billing service uses Redis.")
    await catch_up(db)

    assert await facts(db) == set()


async def test_merge_can_be_undone_after_later_learning(db: Database) -> None:
    await save(db, "The checkout service uses Postgres.")
    await save(db, "The billing service uses PostgreSQL.")
    await catch_up(db)
    one, two = [await view.find_entity(db, name) for name in ("Postgres", "PostgreSQL")]

    await edit.merge(context(db), one.id, two.id, version=None)
    merge = recorded.get() or 0
    await save(db, "The search service uses Postgres.")
    await catch_up(db)
    assert len(await relationships.of_entities(db, [two.id], limit=9)) == 3

    await journal.undo(db, merge, now=NOON)

    assert len(await relationships.of_entities(db, [one.id], limit=9)) == 2
    assert len(await relationships.of_entities(db, [two.id], limit=9)) == 1


async def test_declared_services_are_in_the_graph(db: Database) -> None:
    caddy, db_service = Service(name="caddy", depends_on=("postgres",)), Service(name="postgres")
    await catch_up(db, Services((caddy, db_service)))
    assert await facts(db) == {("caddy", "depends_on", "postgres")}
    assert await view.related_services(db, NOTHING, ["Caddy"]) == ["postgres"]

    await catch_up(db, Services((replace(caddy, depends_on=()), db_service)))
    assert await facts(db) == set()
    assert await entities.count(db, EntityFilter(kind=EntityKind.SERVICE)) == 2


async def test_incident_note_states_relationships_until_it_changes(db: Database) -> None:
    await catch_up(db)
    async with writing(db):
        made = await incidents.insert(
            db,
            service="immich",
            state=IncidentState.RESOLVED,
            severity=Level.CRITICAL,
            source=IncidentSource.CHECK,
            title="immich fails",
            started_at=NOON,
            now=NOON,
        )
        note = "Depends on redis."
        await incidents.update(db, made.id, note=note, now=NOON)
    await catch_up(db)
    assert await facts(db) == {("immich", "depends_on", "redis")}

    async with writing(db):
        await incidents.update(db, made.id, note="The disk was full.", now=NOON)
    await catch_up(db)
    assert await facts(db) == set()


async def test_events_and_session_memories_state_relationships_of_services(db: Database) -> None:
    text = "Needs postgres to be up first"
    candidate = Candidate(
        category=Category.DEPENDENCY, service="jellyfin", observation=text, tier=1, session_id=None
    )
    await remember(learning(db, names=["jellyfin"]), candidate, now=NOON)
    await catch_up(db)
    async with writing(db):
        await events.insert(
            db, Level.INFO, "Depends on redis.", service="immich", source="x", now=NOON
        )
    await catch_up(db)

    assert await facts(db) == {
        ("jellyfin", "depends_on", "postgres"),
        ("immich", "depends_on", "redis"),
    }


async def test_relationships_are_isolated_by_project(db: Database) -> None:
    await save(db, "The checkout service uses Redis.")
    await save(db, "The portal service uses Redis.", project="blog")
    await save(db, "The gateway service uses TLS.", scope="global")
    await catch_up(db)

    assert await facts(db, reach=Reach("shop")) == {FACT, ("gateway", "uses", "TLS")}
    assert await facts(db, reach=Reach("other")) == {("gateway", "uses", "TLS")}
    assert await view.count_graph(db, "other") == (2, 1)


async def test_existing_memories_are_read_into_the_graph_once(db: Database) -> None:
    for number in range(30):
        await save(db, f"The job-{number} service uses Redis.")
    await db_clear(db)

    await catch_up(db)

    assert len(await facts(db)) == 30
    assert not await follow(db, None, now=NOON)
    assert (await position.get(db)).memory_id is None


async def db_clear(db: Database) -> None:
    """Delete all changes except the newest, like pruning."""
    async with writing(db):
        newest = sa.select(sa.func.max(changes.c.seq)).scalar_subquery()
        await db.execute(sa.delete(changes).where(changes.c.seq < newest))


async def test_why_finds_the_decision_of_a_memory(db: Database) -> None:
    """Case 148."""
    text = "Use PostgreSQL for the job queue because one database is enough."
    memory = await save(db, text, category=Category.DECISION)
    await save(db, "Ann decided to drop Redis since backups were failing.", project="shop")
    await catch_up(db)

    [found] = await view.why(db, "Why PostgreSQL?", reach=Reach("shop"))
    assert found.decision.name == "Use PostgreSQL for the job queue"
    assert found.rationale == "one database is enough"
    assert [each.id for each in found.memories] == [memory.id]
    [dropped] = await view.why(db, "Why did we drop Redis?", reach=Reach("shop"))
    assert (dropped.rationale, [each.name for each in dropped.decided_by]) == (
        "backups were failing",
        ["Ann"],
    )
    assert await view.why(db, "Why PostgreSQL?", reach=Reach("blog")) == []


async def test_three_spellings_and_an_alias_are_one_entity(db: Database) -> None:
    """Case 147."""
    for text in (
        "The platform team uses Claude Code (CC).",
        "The docs team uses claude-code.",
        "The web team uses CC.",
    ):
        await save(db, text)
    await catch_up(db)

    tools = await entities.page(db, EntityFilter(kind=EntityKind.TOOL), limit=9)
    assert [each.name for each in tools.items] == ["Claude Code"]


async def test_memories_of_a_bulk_act_are_read_in_short_transactions(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = [await save(db, f"Service{n} depends on Store{n}", title=f"{n}") for n in range(60)]
    await catch_up(db)
    assert len(await facts(db)) == 60
    await bulk.apply_action(db, MemoryFilter(), BulkAction(action="deactivate"), now=NOON)
    sync, reads = evidence.sync, [0]

    async def count(*given: Any, **more: Any) -> None:
        reads[-1] += 1
        await sync(*given, **more)

    @asynccontextmanager
    async def writing_and_counting(db: Database) -> AsyncIterator[None]:
        async with writing(db):
            yield
        reads.append(0)

    monkeypatch.setattr(evidence, "sync", count)
    monkeypatch.setattr(following, "writing_in_background", writing_and_counting)
    await catch_up(db)

    assert await facts(db) == set()
    assert (sum(reads), max(reads)) == (len(saved), following.MEMORIES_AT_ONCE)
