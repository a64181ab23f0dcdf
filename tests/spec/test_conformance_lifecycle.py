"""Conformance, lifecycle: memories are reinforced, weakened, decayed and corrected.

The ids and the ends of the names are the numbers of the cases.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from confidences import LEARNED, UP, WEEK, after
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from living import Home, Server, lately

MEMORIES = "/api/v1/memories"
SAID = "Takes 60s to start after restart"
AGAIN = "Takes about 60 seconds to start after a restart"
Row = tuple[float, int]


@dataclass(frozen=True)
class Case:
    """The stored memory of a service, a session's report on it, and the expected memories."""

    held: str
    confidence: float
    said: str
    kept: list[Row]
    category: str = "timing"
    says: str = ""

    @property
    def marker(self) -> str:
        return self.says or self.category


TOLD = {
    "39": Case(SAID, 0.7, AGAIN, [(0.8, 1)]),
    "40-most": Case(SAID, 0.95, SAID, [(1.0, 1)]),
    "40-one": Case(SAID, 1.0, SAID, [(1.0, 1)]),
    "41": Case(
        SAID, 0.7, "Sometimes crashes on first start", [(0.7, 1), (0.7, 1)], says="behavior"
    ),
    "42": Case(
        "Must be started after WireGuard",
        0.8,
        "Can be started independently of WireGuard",
        [(0.6, 1), (0.7, 1)],
        category="dependency",
    ),
    "43": Case(
        "Must be started after WireGuard",
        0.4,
        "Can be started independently of WireGuard",
        [(0.2, 0), (0.7, 1)],
        category="dependency",
    ),
    "44": Case("Takes 60s to start", 0.7, "Takes 30s to start", [(0.5, 1), (0.7, 1)]),
    "45": Case("Takes 60s to start", 0.7, "Library scan takes 20 minutes", [(0.7, 1), (0.7, 1)]),
    "47-exactly": Case("Takes 60s to start", 0.5, "Takes 30s to start", [(0.3, 1), (0.7, 1)]),
    "47-below": Case("Takes 60s to start", 0.49, "Takes 30s to start", [(0.29, 0), (0.7, 1)]),
}
NUMBERS = {name: f"case-{number}" for number, name in enumerate(TOLD)}


def knows(home: Home, *rows: tuple[str, str, str, float], days: float = 0, active: int = 1) -> None:
    """Store memories of an age: service, category, observation, confidence."""
    migrate.upgrade(sqlite_url(home.path / "lamplighter.db"))
    moment = lately(1 + round(days * 24))
    for row in rows:
        home.write(
            "INSERT INTO memories (service, category, observation, confidence, active, created_at,"
            " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(*row, active, moment, moment),
        )


def confidences(home: Home) -> list[Row]:
    return home.rows("SELECT confidence, active FROM memories ORDER BY id")  # type: ignore[return-value]


def created(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    answer = client.post(MEMORIES, json={"category": "timing", "observation": SAID, **more})
    assert answer.status_code == 201
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, str]:
    """Let one session of tier 2 report everything; return also its start time."""
    home = Home(tmp_path_factory.mktemp("lifecycle") / "home")
    knows(
        home,
        *((NUMBERS[n], case.category, case.held, case.confidence) for n, case in TOLD.items()),
    )
    began = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    home.says(
        *(f"[MEMORY:{each.marker}:{NUMBERS[n]}] {each.said}" for n, each in TOLD.items()), tier=2
    )
    return home, began


@pytest.mark.parametrize("number", TOLD)
def test_session_observation_changes_existing_memories(told: tuple[Home, str], number: str) -> None:
    home, began = told
    case = TOLD[number]

    rows = home.rows(
        "SELECT observation, confidence, active, tier, updated_at >= ? FROM memories "
        "WHERE service = ? ORDER BY id",
        *(began, NUMBERS[number]),
    )

    assert [row[1:3] for row in rows] == case.kept
    (old, *_, tier, confirmed), *learned = rows
    raised = case.kept[0][0] > case.confidence or case.confidence == 1.0
    assert (old, tier, confirmed) == (case.held, 1, raised)  # only what is confirmed is refreshed
    assert [(row[0], *row[3:]) for row in learned] == [(case.said, 2, 1)] * len(learned)


@pytest.mark.parametrize("number", ["42", "43", "44", "47-exactly", "47-below"])
def test_contradicted_memory_is_linked_and_opens_a_review_42_44(
    told: tuple[Home, str], number: str
) -> None:
    home, service = told[0], NUMBERS[number]

    def ask(query: str) -> list[Any]:
        return home.rows(f"SELECT {query} WHERE service = ? ORDER BY 1", service)

    (old,), (new,) = ask("id FROM memories")
    held = "links JOIN memories ON memories.id = memory_id"
    assert ask(f"memory_id, target_id, what FROM {held}") == [(new, old, "contradicts")]
    assert ask("new_id, old_id, kind, state FROM reviews") == [(new, old, "conflict", "open")]


def test_uncontradicted_memories_open_no_review_45(told: tuple[Home, str]) -> None:
    asked = {name for (name,) in told[0].rows("SELECT service FROM reviews")}

    assert asked == {NUMBERS[each] for each in ("42", "43", "44", "47-exactly", "47-below")}


def test_contradiction_is_listed_and_resolved_over_the_api_42(
    server: Server, client: httpx2.Client
) -> None:
    old = created(client, service="decided", confidence=0.8)

    server.home.says("[MEMORY:timing:decided] Takes 30s to start after restart")

    (review,) = client.get("/api/v1/reviews", params={"service": "decided"}).json()["items"]
    assert (review["old"]["id"], review["old"]["confidence"]) == (old["id"], 0.6)
    assert review["new"]["observation"] == "Takes 30s to start after restart"
    address = f"/api/v1/reviews/{review['id']}/resolution"
    decided = client.put(address, json={"resolution": "keep_old"}).json()
    assert (decided["old"]["confidence"], decided["new"]["active"]) == (0.8, False)
    told = server.home.says("x").told["injected"]
    assert ("Takes 60s" in told, "Takes 30s" in told) == (True, False)


def test_memory_with_confidence_exactly_030_remains_in_the_prompt_47(home: Home) -> None:
    knows(home, ("jellyfin", "timing", "Takes 60s to start", 0.7))

    for words in ("Takes 30s to start", "Takes 5s to start"):
        home.says(f"[MEMORY:timing:jellyfin] {words}")

    assert confidences(home)[0] == (0.3, 1)
    assert "- [timing] Takes 60s to start (confidence: 0.3)" in home.says("x").told["injected"]


DAYS = {
    "49": (15, 0.7, (0.7, 1)),
    "49-grace": (30, 0.7, (0.7, 1)),
    "50": (44, 0.7, (0.5, 1)),
    "51": (44, 0.4, (0.2, 0)),
    "53-first": (37, 0.7, (0.6, 1)),
    "53-third": (51, 0.7, (0.4, 1)),
    "54": (36, 0.7, (0.7, 1)),
    "47-faded": (44, 0.5, (0.3, 1)),
    "47-faded-below": (44, 0.49, (0.29, 0)),
}


@pytest.fixture(scope="module")
def faded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, list[Row], str]:
    """Begin a session; return also the resulting confidences, and the prompt's memory block."""
    home = Home(tmp_path_factory.mktemp("fading") / "home")
    for number, (days, confidence, _) in DAYS.items():
        knows(home, (f"s{number}", "timing", SAID, confidence), days=days)
    told = home.says("nothing new").told["injected"]
    return home, confidences(home), told


@pytest.mark.parametrize("number", DAYS)
def test_each_full_week_after_thirty_days_lowers_confidence_by_a_tenth(
    faded: tuple[Home, list[Row], str], number: str
) -> None:
    _, held, told = faded
    confidence, active = DAYS[number][2]

    assert held[list(DAYS).index(number)] == (confidence, active)
    assert (f"### s{number}\n- [timing] {SAID} (confidence: {confidence})\n" in told) == bool(
        active
    )


def test_ten_sessions_on_one_day_lower_confidence_once_52(
    faded: tuple[Home, list[Row], str],
) -> None:
    home, held, _ = faded

    for _ in range(10):
        home.says("nothing new")

    assert confidences(home) == held


def pass_by(home: Home, days: int) -> None:
    """Age the stored memories by some days, without a session."""
    for id, updated in home.rows("SELECT id, updated_at FROM memories"):
        earlier = datetime.fromisoformat(updated) - timedelta(days=days)
        moment = f"{earlier:%Y-%m-%dT%H:%M:%S.%fZ}"
        home.write("UPDATE memories SET updated_at = ? WHERE id = ?", moment, id)


def test_each_week_is_counted_once_and_a_confirmation_restarts_the_age_53_55(home: Home) -> None:
    knows(home, ("jellyfin", "timing", SAID, 0.9), days=36)
    held = []
    for days in (1, 7, 6):
        pass_by(home, days)
        home.says("nothing new")
        held += confidences(home)

    home.says(f"[MEMORY:timing:jellyfin] {AGAIN}")  # on day 50
    held += confidences(home)
    for days in (36, 1):
        pass_by(home, days)
        home.says("nothing new")
        held += confidences(home)

    faded = [after(*[WEEK] * weeks, of=0.9) for weeks in (1, 2, 2)]
    confirmed = after(WEEK, WEEK, UP, of=0.9)
    assert held == [(each, 1) for each in (*faded, confirmed, confirmed, after(WEEK, of=confirmed))]


def test_faded_memory_is_reinforced_from_its_current_confidence_55(home: Home) -> None:
    knows(home, ("jellyfin", "timing", SAID, 0.7), days=50)

    home.says(f"[MEMORY:timing:jellyfin] {AGAIN}")

    columns = "confidence, decayed_weeks, updated_at > created_at"
    assert home.rows(f"SELECT {columns} FROM memories") == [(after(WEEK, WEEK, UP), 0, 1)]


def test_api_clamps_confidence_to_its_range_56(client: httpx2.Client) -> None:
    assert created(client, confidence=1.5)["confidence"] == 1.0
    low = created(client, confidence=-1)
    assert (low["confidence"], low["active"]) == (0.0, False)


def test_repeated_memory_is_reinforced_but_not_by_its_own_session_40(home: Home) -> None:
    marker = f"[MEMORY:timing:jellyfin] {SAID}"

    heard = [home.says(*[marker] * 3) and home.value("SELECT confidence FROM memories")]
    heard += [home.says(marker) and home.value("SELECT confidence FROM memories") for _ in "12"]
    home.write("UPDATE memories SET confidence = 0.95")
    heard += [home.says(marker) and home.value("SELECT confidence FROM memories")]

    assert heard == [LEARNED, after(UP), after(UP, UP), 1.0]


def test_inactive_duplicate_is_revived_as_a_new_memory_46(
    server: Server, client: httpx2.Client
) -> None:
    marker = f"[MEMORY:timing:twin] {SAID}"
    server.home.says(marker)
    (old,) = client.get(MEMORIES, params={"service": "twin"}).json()["items"]
    client.patch(f"{MEMORIES}/{old['id']}", json={"confidence": 0.2})

    server.home.says(marker)

    new, gone = client.get(MEMORIES, params={"service": "twin"}).json()["items"]
    assert (new["confidence"], new["active"]) == (0.7, True)
    assert (gone["id"], gone["confidence"], gone["active"]) == (old["id"], 0.2, False)
    links = server.home.rows("SELECT target_id, what FROM links WHERE memory_id = ?", new["id"])
    assert links == [(old["id"], "revives")]


@pytest.mark.parametrize(
    ("given", "change", "kept"),
    [
        ({}, {"confidence": 1.5}, {"confidence": 1.0}),
        ({}, {"confidence": -1}, {"confidence": 0.0, "active": False}),
        ({"confidence": 0.4}, {"observation": "New"}, {"confidence": 0.4, "observation": "New"}),
        ({}, {"confidence": 0.95}, {"confidence": 0.95}),
        ({"confidence": 0.1}, {"confidence": 0.5}, {"confidence": 0.5, "active": True}),
        ({}, {"confidence": 0.2}, {"confidence": 0.2, "active": False}),
        ({}, {"confidence": 0.3}, {"confidence": 0.3, "active": True}),
        ({}, {"confidence": 0.9}, {"confidence": 0.9, "observation": SAID, "category": "timing"}),
        ({"confidence": 0.1}, {"observation": "New"}, {"observation": "New", "active": False}),
    ],
    ids=["56", "56-below", "57", "58", "59", "60", "47", "89", "167"],
)
def test_operator_edit_changes_only_the_edited_fields(
    client: httpx2.Client, given: dict[str, Any], change: dict[str, Any], kept: dict[str, Any]
) -> None:
    made = created(client, **given)

    changed = client.patch(f"{MEMORIES}/{made['id']}", json=change).json()

    assert {key: changed[key] for key in kept} == kept
    assert changed["updated_at"] > made["updated_at"]
    untouched = {"id", "service", "category", "session_id", "created_at", "tier"} - change.keys()
    assert {key: changed[key] for key in untouched} == {key: made[key] for key in untouched}


def test_operator_memory_has_no_session_and_tier_0_61(client: httpx2.Client) -> None:
    made = created(client, category="maintenance", service="postgres", confidence=0.9)

    assert (made["session_id"], made["active"], made["tier"], made["confidence"]) == (
        None,
        True,
        0,
        0.9,
    )


def test_deletions_are_complete_and_recorded_once_in_the_feed_62(client: httpx2.Client) -> None:
    ids = [created(client)["id"] for _ in range(6)]
    seq = client.get("/api/v1/changes").json()["seq"]

    client.delete(f"{MEMORIES}/{ids[0]}")
    client.post(f"{MEMORIES}/bulk", json={"ids": ids[1:], "action": "delete"})

    assert {client.get(f"{MEMORIES}/{each}").status_code for each in ids} == {404}
    changes = client.get("/api/v1/changes", params={"after": seq}).json()["items"]
    one, many = (each for each in changes if each["entity"] == "memory")  # pages follow later
    assert (one["op"], one["id"]) == ("deleted", ids[0])
    assert (many["op"], many["row"]) == ("batch", {"ids": ids[1:], "op": "deleted"})


@pytest.mark.parametrize(
    "given",
    [{"category": "misc"}, {"observation": " \n"}, {"observation": ""}],
    ids=["63-category", "63-blank", "63-empty"],
)
def test_invalid_memory_is_rejected(client: httpx2.Client, given: dict[str, Any]) -> None:
    before = client.get(MEMORIES).json()["total"]

    answer = client.post(MEMORIES, json={"category": "timing", "observation": "x", **given})

    assert answer.status_code == 422
    assert client.get(MEMORIES).json()["total"] == before


def test_migrating_twice_changes_nothing_64(home: Home) -> None:
    (home.path / "lamplighter.db").unlink()
    url = sqlite_url(home.path / "lamplighter.db")

    assert (migrate.upgrade(url), migrate.upgrade(url)) == (True, False)
    names = {name for (name,) in home.rows("SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert {"idx_memories_service", "idx_memories_confidence", "idx_memories_category"} <= names


def test_inactive_memory_can_be_edited_and_deleted_167(client: httpx2.Client) -> None:
    made = created(client, confidence=0.1, service="inactive")
    address = f"{MEMORIES}/{made['id']}"

    edited = client.patch(address, json={"observation": "Corrected"}).json()

    assert (edited["observation"], edited["active"], edited["confidence"]) == (
        "Corrected",
        False,
        0.1,
    )
    (listed,) = client.get(MEMORIES, params={"service": "inactive"}).json()["items"]
    assert listed == edited
    assert client.delete(address).status_code == 204
