"""The graph: folded names identify entities, and each change of them can be undone."""

import itertools
from typing import Any

import pytest
import sqlalchemy as sa

from contexts import NOON, context
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale
from lamplighter.domain.graph.entity import Entity, EntityKind, RelationshipKind
from lamplighter.domain.memory.memory import Reach
from lamplighter.repository import Database
from lamplighter.repository.graph import entities, relationships
from lamplighter.repository.graph.entities import EntityFilter
from lamplighter.repository.store import changes
from lamplighter.repository.store.tables import complete_metadata
from lamplighter.usecases.access.recording import recorded
from lamplighter.usecases.graph import edit, view
from lamplighter.usecases.graph.edit import EntityEdit, RelationshipEdit
from lamplighter.usecases.memory.journal import undo

TABLES = ("entities", "aliases", "relationships", "graph_evidence")
USES, DEPENDS_ON = RelationshipKind.USES, RelationshipKind.DEPENDS_ON


async def rows(db: Database) -> dict[str, list[str]]:
    """Return all rows of the graph, without versions and times of updates."""
    found = {}
    for name in TABLES:
        table = complete_metadata().tables[name]
        held = await db.fetch_all(sa.select(table).order_by(table.c.id))
        skipped = ("version", "updated_at")
        found[name] = [str({k: v for k, v in dict(r).items() if k not in skipped}) for r in held]
    return found


async def make(
    db: Database, name: str, kind: EntityKind = EntityKind.TOOL, project: str = "ops", **more: Any
) -> Entity:
    return await edit.create_entity(context(db), project, kind, EntityEdit(name=name, **more))


async def relate(db: Database, one: Entity, kind: RelationshipKind, other: Entity) -> int:
    ends = (one.id, other.id)
    return (await edit.create_relationship(context(db), ends, kind, RelationshipEdit())).id


async def test_the_current_relationships_of_entities_are_counted_within_reach(
    db: Database,
) -> None:
    web, redis, ann = [await make(db, name) for name in ("web", "Redis", "Ann")]
    elsewhere = await make(db, "Redis", project="shop")
    other = await make(db, "cart", project="shop")
    await relate(db, web, USES, redis)
    ended = await relate(db, ann, USES, redis)
    await relate(db, other, USES, elsewhere)
    ids = [each.id for each in (web, redis, ann, elsewhere)]

    async def numbers(reach: Reach | None = None) -> list[int]:
        found = await relationships.count_by_entity(db, ids, reach)
        return [found.get(each, 0) for each in ids]

    assert await numbers() == [1, 2, 1, 1]
    assert await numbers(Reach("ops")) == [1, 2, 1, 0]
    await edit.edit_relationship(context(db), ended, RelationshipEdit(valid=False), version=None)
    assert await numbers() == [1, 1, 0, 1]
    assert await relationships.count_by_entity(db, []) == {}


async def test_name_belongs_to_one_entity(db: Database) -> None:
    """Case 147."""
    code = await make(db, "Claude Code", aliases=["CC"])

    for name in ("claude-code", "ClaudeCode", "cc"):
        assert await view.find_entity(db, name) == code
        with pytest.raises(Conflict, match="belongs to entity"):
            await make(db, name)

    assert await entities.count(db, EntityFilter()) == 1
    assert await make(db, "claude-code", project="shop") != code


async def test_renamed_entity_keeps_its_former_name(db: Database) -> None:
    old = await make(db, "Postgres")

    new = await edit.edit_entity(context(db), old.id, EntityEdit(name="PostgreSQL"), version=1)

    assert new.name == "PostgreSQL"
    assert (await entities.names_of(db, [old.id]))[old.id] == ["PostgreSQL", "Postgres"]
    with pytest.raises(Stale):
        await edit.edit_entity(context(db), old.id, EntityEdit(name="PG"), version=1)


@pytest.fixture
async def acts(db: Database) -> dict[str, Any]:
    """Return operations on a graph of three entities, each with its preparation."""
    here = context(db)
    caddy, redis, valkey = [await make(db, each) for each in ("Caddy", "Redis", "Valkey")]
    edge = await relate(db, caddy, USES, redis)
    await relate(db, redis, DEPENDS_ON, valkey)

    async def unmerged() -> None:
        await edit.merge(here, valkey.id, redis.id, version=None)
        await edit.unmerge(here, valkey.id, version=None)

    return {
        "create": lambda: make(db, "Traefik", aliases=["tk"]),
        "relate": lambda: relate(db, caddy, USES, valkey),
        "edit": lambda: edit.edit_entity(
            here,
            caddy.id,
            EntityEdit(name="Caddy 2", properties={"port": "443"}, aliases=["web"]),
            version=None,
        ),
        "change": lambda: edit.edit_relationship(
            here, edge, RelationshipEdit(confidence=0.4, valid=False), version=None
        ),
        "delete": lambda: edit.delete_entity(here, redis.id, version=None),
        "remove": lambda: edit.delete_relationship(here, edge, version=None),
        "merge": lambda: edit.merge(here, valkey.id, redis.id, version=None),
    }


ACTS = ("create", "relate", "edit", "change", "delete", "remove", "merge")


@pytest.mark.parametrize("name", ACTS)
async def test_undo_restores_the_exact_rows_of_each_graph_act(
    db: Database, acts: dict[str, Any], name: str
) -> None:
    before = await rows(db)

    await acts[name]()
    assert await rows(db) != before
    await undo(db, recorded.get() or 0, now=NOON)

    assert await rows(db) == before


async def test_acts_are_undone_in_reverse_order(db: Database, acts: dict[str, Any]) -> None:
    order = ("create", "merge", "edit", "change", "relate", "delete")
    states, done = [], []
    for name in order:
        states.append(await rows(db))
        await acts[name]()
        done.append(recorded.get() or 0)

    for act, state in zip(reversed(done), reversed(states), strict=True):
        await undo(db, act, now=NOON)
        assert await rows(db) == state


async def test_undo_is_refused_after_a_later_change(db: Database, acts: dict[str, Any]) -> None:
    await acts["edit"]()
    first = recorded.get() or 0
    caddy = await view.find_entity(db, "caddy")
    await edit.edit_entity(context(db), caddy.id, EntityEdit(name="Caddy 3"), version=None)
    made = await make(db, "Traefik")
    creation = recorded.get() or 0
    await relate(db, made, USES, caddy)

    with pytest.raises(Conflict, match=r"Entity \d+ \(Caddy 3\) was changed since"):
        await undo(db, first, now=NOON)
    with pytest.raises(Conflict, match=r"is in use"):
        await undo(db, creation, now=NOON)


async def test_merged_entity_adds_its_names_and_relationships_until_unmerged(db: Database) -> None:
    here = context(db)
    caddy, one, two = [await make(db, each) for each in ("Caddy", "Postgres", "PostgreSQL")]
    edge = await relate(db, caddy, USES, one)

    await edit.merge(here, one.id, two.id, version=None)

    assert await view.find_entity(db, "postgres") == two
    assert (await view.graph_around(db, two, depth=1)).depths == {two.id: 0, caddy.id: 1}
    names = (await entities.names_of(db, [two.id]))[two.id]
    assert names == ["PostgreSQL", "Postgres"]
    for number, into in ((two.id, one.id), (one.id, two.id), (two.id, two.id)):
        with pytest.raises(Conflict):
            await edit.merge(here, number, into, version=None)

    await edit.unmerge(here, one.id, version=None)

    back = await relationships.get(db, edge)
    assert back is not None
    assert (back.source_id, back.target_id) == (caddy.id, one.id)
    assert (await view.graph_around(db, two, depth=3)).depths == {two.id: 0}


async def test_deleted_entity_is_not_found_and_is_recreated_under_its_id(db: Database) -> None:
    caddy, redis = await make(db, "Caddy"), await make(db, "Redis")
    await relate(db, caddy, USES, redis)

    await edit.delete_entity(context(db), redis.id, version=None)

    with pytest.raises(NotFound):
        await view.find_entity(db, "redis")
    with pytest.raises(NotFound):
        await edit.get_entity(db, redis.id)
    assert (await view.graph_around(db, caddy, depth=2)).depths == {caddy.id: 0}

    again = await make(db, "redis", EntityKind.SERVICE)
    assert (again.id, again.kind, again.current) == (redis.id, EntityKind.SERVICE, True)


async def test_depth_and_limit_bound_a_traversal(db: Database) -> None:
    chain = [await make(db, f"node {number}") for number in range(6)]
    for one, other in itertools.pairwise(chain):
        await relate(db, one, DEPENDS_ON, other)
    await relate(db, chain[5], DEPENDS_ON, chain[0])
    ids = [each.id for each in chain]

    near = await view.graph_around(db, chain[0], depth=2)
    cut = await view.graph_around(db, chain[0], depth=5, limit=3)

    assert near.depths == {ids[0]: 0, ids[1]: 1, ids[5]: 1, ids[2]: 2, ids[4]: 2}
    assert len(near.edges) == 4
    assert (len(cut.nodes), cut.more) == (3, True)
    assert cut.nodes[0] == chain[0]


async def test_graph_is_isolated_by_project(db: Database) -> None:
    ours, theirs = await make(db, "Redis"), await make(db, "Redis", project="shop")
    shared = await make(db, "TLS", project="")
    await relate(db, ours, USES, shared)
    secret = await relate(db, theirs, USES, shared)
    reach = Reach("ops")

    assert await view.find_entity(db, "redis", reach=reach) == ours
    with pytest.raises(NotFound):
        await view.find_entity(db, str(theirs.id), reach=reach)
    found = await view.graph_around(db, shared, reach, depth=3)
    assert found.depths == {shared.id: 0, ours.id: 1}
    assert await relationships.get(db, secret, reach) is None
    case = await view.entity_case(db, shared, reach)
    assert list(case.neighbors) == [ours.id]
    assert await view.count_graph(db, "ops") == (2, 1)
    with pytest.raises(Conflict, match="Several projects"):
        await view.find_entity(db, "redis")
    with pytest.raises(Conflict, match="different projects"):
        await relate(db, ours, USES, theirs)


async def test_each_graph_change_is_recorded_in_the_feed(db: Database) -> None:
    caddy, redis = await make(db, "Caddy"), await make(db, "Redis")
    await relate(db, caddy, USES, redis)
    await edit.delete_entity(context(db), redis.id, version=None)

    found = [(each.entity, each.op.value) for each in await changes.list_after(db, 0)]

    assert found == [
        ("entity", "created"),
        ("entity", "created"),
        ("relationship", "created"),
        ("relationship", "updated"),
        ("entity", "updated"),
    ]


async def test_relationship_to_itself_or_a_duplicate_is_rejected(db: Database) -> None:
    caddy, redis = await make(db, "Caddy"), await make(db, "Redis")
    await relate(db, caddy, USES, redis)

    with pytest.raises(Invalid):
        await relate(db, caddy, USES, caddy)
    with pytest.raises(Conflict, match="already says this"):
        await relate(db, caddy, USES, redis)


async def test_why_returns_the_decision_and_its_rationale(db: Database) -> None:
    """Case 148."""
    decision = await make(
        db,
        "Use PostgreSQL for the job queue",
        EntityKind.DECISION,
        properties={"rationale": "one database to back up"},
    )
    await make(db, "Use Caddy for TLS", EntityKind.DECISION)
    ann, tool = await make(db, "Ann", EntityKind.PERSON), await make(db, "PostgreSQL")
    await relate(db, decision, RelationshipKind.DECIDED_BY, ann)
    await relate(db, decision, RelationshipKind.CONCERNS, tool)

    for question in ("why PostgreSQL?", "Why do we use a job queue in postgresql"):
        [found] = await view.why(db, question)
        assert found.decision == decision
        assert found.rationale == "one database to back up"
        assert found.decided_by == [ann]
        assert found.concerns == [tool]
    assert await view.why(db, "Why Kafka?") == []
    assert await view.why(db, "why PostgreSQL?", reach=Reach("shop")) == []
