"""The graph in prompts: related services follow the focus, and projects count their graph."""

from contexts import NOON, WINDOW, context, learning, named
from lamplighter.domain.graph.entity import EntityKind, RelationshipKind
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import ProfileLimits
from lamplighter.repository import Database
from lamplighter.usecases.clients.project_context import project_context
from lamplighter.usecases.graph import edit
from lamplighter.usecases.graph.edit import EntityEdit, RelationshipEdit
from lamplighter.usecases.graph.follow import follow
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.sessions.prompts import SessionPlan, build_context

SERVICES = ("jellyfin", "postgres", "caddy", "grafana")


async def learn(db: Database, service: str, text: str, confidence: float) -> None:
    candidate = Candidate(
        category=Category.BEHAVIOR,
        service=service,
        observation=text,
        tier=1,
        session_id=None,
        confidence=confidence,
    )
    await remember(learning(db, names=SERVICES), candidate, now=NOON)


async def block(db: Database, focus: tuple[str, ...] | None, budget: int) -> str:
    plan = SessionPlan(tier=2, services=focus)
    found, _ = await build_context(db, plan, named(SERVICES), budget=budget, now=NOON)
    return found.text


async def relate(db: Database, one: str, other: str) -> None:
    here, ids = context(db), []
    for name in (one, other):
        made = await edit.create_entity(here, "ops", EntityKind.SERVICE, EntityEdit(name=name))
        ids.append(made.id)
    ends, kind = (ids[0], ids[1]), RelationshipKind.DEPENDS_ON
    await edit.create_relationship(here, ends, kind, RelationshipEdit())


async def test_services_related_in_the_graph_follow_the_focus(db: Database) -> None:
    await learn(db, "jellyfin", "Streams stop after an hour", 0.5)
    await learn(db, "postgres", "Vacuum runs at night", 0.4)
    await learn(db, "caddy", "Reloads drop open connections", 0.9)
    everything, before = await block(db, None, 2_000), await block(db, ("jellyfin",), 52)

    await relate(db, "jellyfin", "postgres")

    after = await block(db, ("jellyfin",), 52)
    assert "caddy" in before
    assert "postgres" not in before
    assert "postgres" in after
    assert "caddy" not in after
    assert await block(db, None, 2_000) == everything


async def test_project_context_counts_its_graph(db: Database) -> None:
    candidate = Candidate(
        category=Category.PATTERN,
        service=None,
        observation="The checkout service uses Redis.",
        tier=0,
        session_id=None,
        source=Source.CLIENT,
        topic_key="stack",
        project="shop",
    )
    await knowledge.save(context(db), candidate, window=WINDOW)
    without = (await project_context(db, "shop", ProfileLimits(), now=NOON)).text
    assert "Knowledge graph" not in without

    while await follow(db, Services(), now=NOON):
        pass

    text = (await project_context(db, "shop", ProfileLimits(), now=NOON)).text
    line = "Knowledge graph: 2 entities, 1 relationship. Use mem_graph and mem_why to read it."
    assert text.rstrip().endswith(line)
