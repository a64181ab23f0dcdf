"""The graph tools: relationships that memories state of people, tools and decisions."""

from client_contexts import box, desk, kept, person, refused, said, used

from contexts import NOON
from lamplighter.domain.memory.memory import Category
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.usecases.graph.follow import follow

DECLARED = Services((Service(name="web", depends_on=("db",)), Service(name="db")))


async def catch_up(db: Database) -> None:
    while await follow(db, DECLARED, now=NOON):
        pass


async def test_mem_graph_shows_the_relationships_stated_by_memories(db: Database) -> None:
    await kept(db, "Ann works on Atlas. Atlas uses Redis.", project="shop")
    await kept(db, "Ben works on Atlas.", project="other")
    await catch_up(db)
    tools = await box(desk(db), person(), project="shop")

    graph = await used(tools, "mem_graph", about="atlas")
    text = await said(tools, "mem_graph", about="Ann", depth=2)

    edges = {(each["from"], each["what"], each["to"]) for each in graph["edges"]}
    assert edges == {
        ("person Ann", "works on", "project Atlas"),
        ("project Atlas", "uses", "tool Redis"),
    }
    assert "- project Atlas uses tool Redis" in text
    assert "Ben" not in text
    assert "not found" in await refused(tools, "mem_graph", about="Kafka")


async def test_declared_dependencies_require_the_scope(db: Database) -> None:
    await kept(db, "The web service uses Redis.", project="ops")
    await catch_up(db)
    blind = await box(desk(db), person(), project="ops")
    sees = await box(desk(db), person("knowledge:read", "services:read"), project="ops")

    hidden = await used(blind, "mem_graph", about="web")
    shown = await used(sees, "mem_graph", about="web")

    assert [each["what"] for each in hidden["edges"]] == ["uses"]
    assert {"uses", "depends on"} == {each["what"] for each in shown["edges"]}


async def test_mem_why_explains_a_decision(db: Database) -> None:
    """Case 148."""
    text = "Use PostgreSQL for the job queue because one database is enough."
    memory = await kept(db, text, project="shop", category=Category.DECISION)
    await catch_up(db)
    tools = await box(desk(db), person(), project="shop")

    [case] = (await used(tools, "mem_why", question="Why PostgreSQL?"))["decisions"]
    spoken = await said(tools, "mem_why", question="Why PostgreSQL?")

    assert case["decision"] == "Use PostgreSQL for the job queue"
    assert case["rationale"] == "one database is enough"
    assert [each["id"] for each in case["memories"]] == [memory.id]
    assert "Rationale: one database is enough" in spoken
    assert await said(tools, "mem_why", question="Why Kafka?") == "No decision matches."
