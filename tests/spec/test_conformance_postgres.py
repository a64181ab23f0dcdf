"""The core of conformance again, with real sessions and a real server on PostgreSQL.

The ids are the numbers of the cases.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from test_conformance_lifecycle import DAYS, NUMBERS, SAID, TOLD, Row

import direct_writes
from confidences import UP, after
from lamplighter.domain.sessions.context import estimate_tokens
from living import Home, Server, lately
from postgres_server import PostgresServer

DECIDED = "Takes 30s to start after restart"


class Kept(Home):
    """A home with its rows in PostgreSQL."""

    @property
    def url(self) -> str:
        return self.more["LAMPLIGHTER_DATABASE_URL"]

    def rows(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        assert not given
        return direct_writes.run(self.url, query)

    def knows(self, *rows: tuple[str, str, str, float], days: int = 0) -> None:
        moment = lately(1 + days * 24)
        values = ", ".join(
            f"('{service}', '{category}', '{observation}', {confidence}, '{moment}', '{moment}')"
            for service, category, observation, confidence in rows
        )
        columns = "service, category, observation, confidence, created_at, updated_at"
        direct_writes.run(self.url, f"INSERT INTO memories ({columns}) VALUES {values}")


@pytest.fixture(scope="module")
def shared(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """Let a session of tier 2 begin on old memories, and report everything in a table."""
    home = Kept(tmp_path_factory.mktemp("kept") / "home")
    postgres.drop("conformance")  # work that is shared out anew may come back to this server
    home.more["LAMPLIGHTER_DATABASE_URL"] = postgres.create("conformance", "migrated")
    for number, (days, confidence, _) in DAYS.items():
        home.knows((f"s{number}", "timing", SAID, confidence), days=days)
    held = [(NUMBERS[n], case.category, case.held, case.confidence) for n, case in TOLD.items()]
    home.knows(*held)
    markers = [f"[MEMORY:{case.marker}:{NUMBERS[n]}] {case.said}" for n, case in TOLD.items()]
    assert home.says(*markers, tier=2).session["status"] == "completed"
    yield home
    postgres.drop("conformance")


def believed(home: Kept, service: str) -> list[Row]:
    query = f"SELECT confidence, active FROM memories WHERE service = '{service}' ORDER BY id"
    return [(float(confidence), active) for confidence, active in home.rows(query)]


@pytest.mark.parametrize("number", TOLD)
def test_session_observation_changes_existing_memories(shared: Kept, number: str) -> None:
    assert believed(shared, NUMBERS[number]) == TOLD[number].kept


@pytest.mark.parametrize("number", DAYS)
def test_unconfirmed_memories_fade(shared: Kept, number: str) -> None:
    assert believed(shared, f"s{number}") == [DAYS[number][2]]


def test_learned_memories_store_session_and_tier_15_16(shared: Kept) -> None:
    learned = shared.rows("SELECT DISTINCT session_id, tier FROM memories WHERE tier != 1")

    assert learned == [(1, 2)]
    assert shared.rows("SELECT status, learned, reinforced FROM sessions") == [("completed", 7, 3)]


def test_each_contradiction_opens_one_review_42(shared: Kept) -> None:
    reviews = shared.rows("SELECT service, kind, state FROM reviews ORDER BY id")

    asked = ["42", "43", "44", "47-exactly", "47-below"]
    assert reviews == [(NUMBERS[each], "conflict", "open") for each in asked]
    links = shared.rows("SELECT what, count(*) FROM links GROUP BY what")
    assert links == [("contradicts", len(asked))]


def test_next_session_gets_the_remaining_memories_48_65(shared: Kept) -> None:
    injected = shared.says("x").told["injected"]

    told = re.findall(r"^### (\S+)$", injected, re.MULTILINE)
    left = shared.rows("SELECT DISTINCT service FROM memories WHERE active = 1")
    assert sorted(told) == sorted(service for (service,) in left)
    assert injected == shared.rows("SELECT injected FROM prompts ORDER BY session_id")[-1][0]


@pytest.fixture
def kept(postgres_url: str, tmp_path: Path) -> Kept:
    return Kept(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": postgres_url})


def test_memories_are_reinforced_revived_and_included_within_the_budget_40_46_70(
    kept: Kept,
) -> None:
    for _ in range(3):
        kept.says(*[f"[MEMORY:timing:jellyfin] {SAID}"] * 2)
    assert believed(kept, "jellyfin") == [(after(UP, UP), 1)]
    direct_writes.run(kept.url, "UPDATE memories SET confidence = 0.2, active = 0")

    kept.says(f"[MEMORY:timing:jellyfin] {SAID}")

    assert believed(kept, "jellyfin") == [(0.2, 0), (0.7, 1)]
    assert kept.rows("SELECT memory_id, target_id, what FROM links") == [(2, 1, "revives")]
    kept.knows(*((f"s{n}", "timing", f"{n:02}".ljust(400, "x"), 1 - n / 100) for n in range(50)))
    injected = kept.says("x").told["injected"]
    block = injected[injected.index("## Operational Memory") :]
    shown = sorted(re.findall(r"\[timing\] (\d\d)x", block))
    assert shown == [f"{n:02}" for n in range(len(shown))]
    assert 1_890 < estimate_tokens(block) <= 2_000
    assert re.match(r"## Operational Memory \(\d+ of 51 memories, ~[\d,]+ tokens\)\n", block)


def test_operator_edits_resolves_and_deletes_memories_42_56_62(kept: Kept) -> None:
    server = Server(kept)
    try:
        with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as client:
            given = {"category": "timing", "service": "jellyfin", "observation": SAID}
            made = client.post("/api/v1/memories", json={**given, "confidence": 1.5}).json()
            assert (made["confidence"], made["session_id"], made["tier"]) == (1.0, None, 0)
            kept.says(f"[MEMORY:timing:jellyfin] {DECIDED}")

            (review,) = client.get("/api/v1/reviews").json()["items"]
            assert (review["old"]["confidence"], review["said"]) == (0.8, DECIDED)
            resolution = f"/api/v1/reviews/{review['id']}/resolution"
            decided = client.put(resolution, json={"resolution": "keep_old"}).json()
            assert (decided["old"]["confidence"], decided["new"]["active"]) == (1.0, False)

            ids = [decided["old"]["id"], decided["new"]["id"]]
            client.post("/api/v1/memories/bulk", json={"ids": ids, "action": "delete"})
            assert client.get("/api/v1/memories").json()["total"] == 0
            assert kept.rows("SELECT count(*) FROM memories") == [(0,)]
            for number in ids:  # out of the trash, and with it every copy of its words
                assert client.delete(f"/api/v1/trash/{number}").status_code == 204
    finally:
        server.kill()

    assert kept.rows("SELECT count(*) FROM memories") == [(0,)]
    assert kept.rows("SELECT count(*) FROM analyses") == [(0,)]
    assert SAID not in str(kept.rows("SELECT * FROM history") + kept.rows("SELECT * FROM changes"))
