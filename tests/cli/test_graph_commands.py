"""`lamplighter graph` and `lamplighter why`."""

import asyncio
import json
from pathlib import Path

from contexts import NOON, context
from lamplighter.domain.graph.entity import EntityKind, RelationshipKind
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.graph import edit
from lamplighter.usecases.graph.edit import EntityEdit, RelationshipEdit


def fill(home: Path) -> None:
    async def made() -> None:
        async with Database(sqlite_url(home / "lamplighter.db")) as db:
            here = context(db, NOON)
            decision = await edit.create_entity(
                here,
                "ops",
                EntityKind.DECISION,
                EntityEdit(name="Use Caddy for TLS", properties={"rationale": "it renews alone"}),
            )
            caddy = await edit.create_entity(
                here, "ops", EntityKind.TOOL, EntityEdit(name="Caddy", aliases=["web"])
            )
            ends = (decision.id, caddy.id)
            kind = RelationshipKind.CONCERNS
            await edit.create_relationship(here, ends, kind, RelationshipEdit())

    asyncio.run(made())


def test_graph_prints_the_entities_around_an_entity(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    fill(home)

    shown, data = run("graph", "web"), run("graph", "web", "--json")

    assert shown.output.splitlines() == [
        "tool Caddy",
        "  decision Use Caddy for TLS concerns tool Caddy (confidence: 1)",
    ]
    assert [each["name"] for each in json.loads(data.output)["nodes"]] == [
        "Caddy",
        "Use Caddy for TLS",
    ]
    assert run("graph", "nowhere").exit_code == 2


def test_why_prints_the_rationale_and_memories_of_a_decision(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    fill(home)

    found, none = run("why", "why", "caddy?"), run("why", "kafka")

    assert found.output.splitlines() == [
        "Use Caddy for TLS",
        "  Rationale: it renews alone",
        "  Memories: none",
    ]
    assert (none.output, none.exit_code) == ("No decision matches.\n", 1)
