"""SPEC-0015, scenario by scenario, through the real supervisor, database and API."""

import ast
import re
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from scenario_titles import name_of, titles

from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.sessions.context import estimate_tokens
from lamplighter.domain.sessions.markers import MEMORY
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from living import Home, Server, lately, result

E2E = Path(__file__).parents[2] / "e2e" / "test_memories_page.py"
IN_A_BROWSER = (
    "Memories page renders",
    "Memories page auto-refreshes",
    "Inactive memory visible in dashboard",
)
SLOW_START = "Takes 60s to start after restart"
SPEC_COLUMNS = [
    ("id", "INTEGER", 1, None, 1),
    ("service", "TEXT", 0, None, 0),
    ("category", "TEXT", 1, None, 0),
    ("observation", "TEXT", 1, None, 0),
    ("confidence", "REAL", 1, "0.7", 0),
    ("active", "INTEGER", 1, "1", 0),
    ("created_at", "TEXT", 1, None, 0),
    ("updated_at", "TEXT", 1, None, 0),
    ("session_id", "INTEGER", 0, None, 0),
    ("tier", "INTEGER", 1, "1", 0),
]
INDEXES = {
    "idx_memories_service": ["service", "active"],
    "idx_memories_confidence": ["confidence", "active"],
    "idx_memories_category": ["category"],
}
Row = tuple[str | None, str, str, float]


def knows(home: Home, *rows: Row, active: int = 1) -> None:
    """Store memories in the home: service, category, observation, confidence."""
    migrate.upgrade(sqlite_url(home.path / "lamplighter.db"))
    for row in rows:
        home.write(
            "INSERT INTO memories (service, category, observation, confidence, active, "
            "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *row,
            active,
            *[lately()] * 2,
        )


def block(injected: str) -> str:
    """Return the memory block at the end of the injected text; "" if there is none."""
    start = injected.find("## Operational Memory")
    return "" if start < 0 else injected[start:]


def memories(home: Home, columns: str = "category, service, observation, confidence") -> list[Any]:
    return home.rows(f"SELECT {columns} FROM memories ORDER BY id")


def created(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    given = {"category": "timing", "observation": SLOW_START, **more}
    answer = client.post("/api/v1/memories", json=given)
    assert answer.status_code == 201
    found: dict[str, Any] = answer.json()
    return found


def test_every_scenario_has_a_test_here_or_in_e2e() -> None:
    """A test here, or one in e2e/, for each of the 44; it is named and told as the scenario is."""
    page = ast.parse(E2E.read_text(encoding="utf-8"))
    there = {
        each.name: ast.get_docstring(each) or ""
        for each in page.body
        if isinstance(each, ast.FunctionDef)
    }
    here = {name: each.__doc__ or "" for name, each in globals().items() if "test_" in name}

    assert len(titles()) == len(set(titles())) == 44
    for title in titles():
        told = (there if title in IN_A_BROWSER else here)[name_of(title)]
        assert told.startswith("WHEN "), title
        assert "\n" in told, title
        assert "THEN " in told, title
    assert set(IN_A_BROWSER) <= set(titles())


def test_migration_creates_memories_table(tmp_path: Path) -> None:
    """WHEN the application starts and migration 005 has not been applied
    THEN the `memories` table is created with columns: `id` (INTEGER PRIMARY KEY AUTOINCREMENT),
      `service` (TEXT, nullable), `category` (TEXT NOT NULL), `observation` (TEXT NOT NULL),
      `confidence` (REAL NOT NULL DEFAULT 0.7), `active` (INTEGER NOT NULL DEFAULT 1),
      `created_at` (TEXT NOT NULL), `updated_at` (TEXT NOT NULL), `session_id` (INTEGER
      REFERENCES sessions(id)), `tier` (INTEGER NOT NULL DEFAULT 1)
    THEN indexes are created on `(service, active)`, `(confidence, active)`, and `(category)`
    """
    path = tmp_path / "lamplighter.db"

    migrate.upgrade(sqlite_url(path), target="0005")

    with closing(driver.connect(str(path))) as raw:
        columns = [tuple(row[1:]) for row in raw.execute("PRAGMA table_info(memories)")]
        assert columns == SPEC_COLUMNS
        (key,) = raw.execute("PRAGMA foreign_key_list(memories)").fetchall()
        assert (key[3], key[2], key[4]) == ("session_id", "sessions", "id")
        (sql,) = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'memories'").fetchone()
        assert "PRIMARY KEY AUTOINCREMENT" in sql
        assert {
            name: [row[2] for row in raw.execute(f"PRAGMA index_info({name})")] for name in INDEXES
        } == INDEXES


def test_migration_is_idempotent(home: Home) -> None:
    """WHEN the application starts and migration 005 has already been applied
    THEN the migration is skipped and the existing `memories` table is unchanged
    """
    home.says("[MEMORY:timing:jellyfin] " + SLOW_START)
    before = [home.rows(f"SELECT * FROM {table}") for table in ("memories", "sqlite_master")]

    assert migrate.upgrade(sqlite_url(home.path / "lamplighter.db")) is False
    home.says("nothing new")

    after = [home.rows(f"SELECT * FROM {table}") for table in ("memories", "sqlite_master")]
    assert after == before


def test_valid_category_accepted(home: Home) -> None:
    """WHEN a memory marker is parsed with category `timing`
    THEN the memory is inserted into the `memories` table with `category = 'timing'`
    """
    home.says(*(f"[MEMORY:{category}] About {category}" for category in OPERATIONAL))

    assert memories(home) == [
        (category, None, f"About {category}", 0.7)
        for category in ("timing", "dependency", "behavior", "remediation", "maintenance")
    ]


def test_invalid_category_rejected(home: Home) -> None:
    """WHEN a memory marker is parsed with category `misc` (not in the allowed set)
    THEN the memory SHALL NOT be inserted into the database
    THEN a warning log message is emitted indicating the invalid category
    """
    ran = home.says("[MEMORY:misc] Some observation", "[MEMORY:decision] Not of these either")

    assert memories(home) == []
    assert "WARNING" in ran.log
    assert "unknown category 'misc'" in ran.log
    warnings = home.rows("SELECT text FROM events WHERE level = 'warning' ORDER BY id")
    assert "unknown category 'misc'" in warnings[0][0]
    assert "unknown category 'decision'" in warnings[1][0]


def test_general_memory_marker_no_service(home: Home) -> None:
    """WHEN the LLM outputs `[MEMORY:remediation] DNS checks sometimes fail transiently during
      WireGuard reconnects -- retry once before escalating`
    THEN a memory is created with category=`remediation`, service=NULL, observation=`DNS checks
      sometimes fail transiently during WireGuard reconnects -- retry once before escalating`,
      confidence=0.7, tier set to the current session tier
    """
    observation = (
        "DNS checks sometimes fail transiently during WireGuard reconnects"
        " -- retry once before escalating"
    )

    home.says(f"[MEMORY:remediation] {observation}", tier=2)

    assert memories(home, "category, service, observation, confidence, tier") == [
        ("remediation", None, observation, 0.7, 2)
    ]


def test_service_specific_memory_marker(home: Home) -> None:
    """WHEN the LLM outputs `[MEMORY:timing:jellyfin] Takes 60s to start after restart -- wait
      before checking health`
    THEN a memory is created with category=`timing`, service=`jellyfin`, observation=`Takes 60s
      to start after restart -- wait before checking health`, confidence=0.7
    """
    observation = "Takes 60s to start after restart -- wait before checking health"

    home.says(f"[MEMORY:timing:jellyfin] {observation}")

    assert memories(home) == [("timing", "jellyfin", observation, 0.7)]


def test_marker_in_tool_result_ignored(home: Home) -> None:
    """WHEN a tool result block contains text matching the `[MEMORY:...]` pattern
    THEN it SHALL NOT be parsed as a memory (only assistant text blocks produce memories)
    """
    marker = f"[MEMORY:timing:jellyfin] {SLOW_START}"
    tool_result = {"type": "tool_result", "content": marker}

    ran = home.run(
        {"type": "system", "subtype": "init", "text": marker},
        {"type": "user", "message": {"content": [tool_result]}},
        {"type": "user", "message": {"content": [{"type": "text", "text": marker}]}},
        result(result=marker),
    )

    assert ran.session["status"] == "completed"
    assert memories(home) == []


def test_memory_linked_to_session(home: Home) -> None:
    """WHEN a memory marker is parsed during session ID 42
    THEN the resulting memory row has `session_id = 42` and `created_at` and `updated_at` set to
      the current UTC timestamp
    """
    migrate.upgrade(sqlite_url(home.path / "lamplighter.db"))
    home.write(
        "INSERT INTO sessions (id, tier, engine, trigger, status, started_at, prompt) "
        "VALUES (41, 1, 'probe', 'manual', 'completed', '2026-01-01T12:00:00.000000Z', '')"
    )
    before = datetime.now(UTC)

    ran = home.says(f"[MEMORY:timing:jellyfin] {SLOW_START}")

    ((session_id, created_at, updated_at),) = memories(home, "session_id, created_at, updated_at")
    assert (ran.id, session_id) == (42, 42)
    assert created_at == updated_at
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", created_at)
    assert before <= datetime.fromisoformat(created_at) <= datetime.now(UTC)


def test_tier_1_creates_a_memory(home: Home) -> None:
    """WHEN a Tier 1 (observe) session emits `[MEMORY:behavior:adguard] Returns HTTP 302 redirect
      when healthy, not 200`
    THEN a memory is created with `tier = 1`
    """
    home.says("[MEMORY:behavior:adguard] Returns HTTP 302 redirect when healthy, not 200")

    assert memories(home, "service, tier") == [("adguard", 1)]


def test_tier_3_creates_a_memory(home: Home) -> None:
    """WHEN a Tier 3 (remediate) session emits `[MEMORY:dependency:caddy] Must be started after
      WireGuard -- fails with no route to host otherwise`
    THEN a memory is created with `tier = 3`
    """
    home.says(
        "[MEMORY:dependency:caddy] Must be started after WireGuard"
        " -- fails with no route to host otherwise",
        tier=3,
    )

    assert memories(home, "service, tier") == [("caddy", 3)]


def test_regex_matches_well_formed_marker() -> None:
    """WHEN the text `[MEMORY:dependency:postgres] Dependents should wait 10s after postgres
      restart` is tested against the regex
    THEN group 1 = `dependency`, group 2 = `postgres`, group 3 = `Dependents should wait 10s
      after postgres restart`
    """
    found = MEMORY.search(
        "[MEMORY:dependency:postgres] Dependents should wait 10s after postgres restart"
    )

    assert found is not None
    assert found.groups() == (
        "dependency",
        "postgres",
        "Dependents should wait 10s after postgres restart",
    )
    assert MEMORY.pattern == (
        r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)"
        r"(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
    )


def test_regex_rejects_malformed_marker() -> None:
    """WHEN the text `[MEMORY:unknown] Some observation` is tested against the regex
    THEN the regex does not match (because `unknown` is not in the category enum)
    """
    assert MEMORY.search("[MEMORY:unknown] Some observation") is None


def test_memories_injected_at_session_start(home: Home) -> None:
    """WHEN a new session starts and the `memories` table contains 5 active memories (confidence >=
      0.3)
    THEN `buildMemoryContext()` returns a formatted text block containing all 5 memories
    THEN the text block is appended to the `--append-system-prompt` argument
    """
    rows: list[Row] = [("jellyfin", "timing", f"Fact {number}", 0.3) for number in range(5)]
    knows(home, *rows)

    ran = home.says("x")

    found = block(ran.told["injected"])
    assert [f"- [timing] Fact {number} (confidence: 0.3)" in found for number in range(5)] == (
        [True] * 5
    )
    assert ran.told["injected"].startswith("## Environment\n")
    assert ran.told["injected"] == home.value("SELECT injected FROM prompts")


def test_no_active_memories(home: Home) -> None:
    """WHEN a new session starts and the `memories` table has no active memories above the
      confidence threshold
    THEN `buildMemoryContext()` returns an empty string
    THEN no memory section is appended to the system prompt
    """
    knows(home, ("jellyfin", "timing", "Put aside", 0.9), active=0)
    knows(home, ("jellyfin", "timing", "Hardly true", 0.2))

    ran = home.says("x")

    assert ran.told["injected"].startswith("## Environment\n")
    assert "Operational Memory" not in ran.told["injected"]
    assert "###" not in ran.told["injected"]


def test_memories_grouped_by_service(home: Home) -> None:
    """WHEN the memory context is rendered and there are memories for services `jellyfin`,
      `postgres`, and a general memory (service=NULL)
    THEN the output is grouped under service headings (`### jellyfin`, `### postgres`, `###
      general`) with each memory as a bullet point showing category and confidence
    """
    knows(
        home,
        (None, "remediation", "Retry once", 0.95),
        ("postgres", "dependency", "Wait 10s", 0.7),
        ("jellyfin", "timing", "Takes 60s", 0.9),
    )

    assert block(home.says("x").told["injected"]).split("\n", 1)[1] == (
        "\n### jellyfin\n- [timing] Takes 60s (confidence: 0.9)\n"
        "\n### postgres\n- [dependency] Wait 10s (confidence: 0.7)\n"
        "\n### general\n- [remediation] Retry once (confidence: 0.95)\n"
    )


def many(count: int = 50) -> list[Row]:
    """Return memories of 400 characters each, with decreasing confidence."""
    return [
        (f"svc{number % 5}", "timing", f"{number:02} ".ljust(400, "x"), 1 - number / 100)
        for number in range(count)
    ]


def test_budget_enforced_with_many_memories(home: Home) -> None:
    """WHEN there are 50 active memories totaling an estimated 5,000 tokens
    THEN `buildMemoryContext()` includes only the highest-confidence memories that fit within
      2,000 tokens
    THEN a header comment indicates how many memories were included out of the total (e.g., `##
      Operational Memory (23 of 50 memories, ~1,987 tokens)`)
    """
    knows(home, *many())

    found = block(home.says("x").told["injected"])

    told = sorted(re.findall(r"\[timing\] (\d\d) ", found))
    assert 15 < len(told) < 20
    assert told == [f"{number:02}" for number in range(len(told))]
    assert estimate_tokens(found) <= 2_000 < estimate_tokens(found) + 110
    assert found.startswith(
        f"## Operational Memory ({len(told)} of 50 memories, ~{estimate_tokens(found):,} tokens)\n"
    )


def test_budget_is_configurable(home: Home) -> None:
    """WHEN the `CLAUDEOPS_MEMORY_BUDGET` environment variable is set to `4000`
    THEN the memory token budget is 4,000 tokens instead of the default 2,000
    """
    knows(home, *many())
    home.more["CLAUDEOPS_MEMORY_BUDGET"] = "4000"

    assert 3_890 < estimate_tokens(block(home.says("x").told["injected"])) <= 4_000


def test_all_memories_fit_within_budget(home: Home) -> None:
    """WHEN there are 3 active memories totaling an estimated 200 tokens
    THEN all 3 memories are included and the header reflects the actual count and token usage
    """
    knows(home, *many(3))

    found = block(home.says("x").told["injected"])

    assert found.count("\n- ") == 3
    assert found.startswith(
        f"## Operational Memory (3 memories, ~{estimate_tokens(found)} tokens)\n"
    )


def test_default_confidence_on_creation(home: Home) -> None:
    """WHEN a memory marker is parsed and inserted into the database
    THEN the confidence field is set to 0.7
    """
    home.says(f"[MEMORY:timing:jellyfin] {SLOW_START}")

    assert memories(home, "confidence") == [(0.7,)]


def test_low_confidence_memory_excluded_from_prompt(home: Home) -> None:
    """WHEN `buildMemoryContext()` runs and a memory has confidence 0.2
    THEN that memory is not included in the prompt injection text
    """
    knows(home, ("jellyfin", "timing", "Hardly true", 0.2), ("caddy", "timing", "True", 0.3))

    injected = home.says("x").told["injected"]

    assert ("Hardly true" in injected, "- [timing] True" in injected) == (False, True)


def test_confidence_clamped_to_valid_range(client: httpx2.Client) -> None:
    """WHEN an operator sets a memory's confidence to 1.5 via the dashboard
    THEN the system clamps the value to 1.0 before saving
    """
    made = created(client)

    changed = client.patch(f"/api/v1/memories/{made['id']}", json={"confidence": 1.5})

    assert changed.json()["confidence"] == 1.0
    assert client.get(f"/api/v1/memories/{made['id']}").json() == changed.json()


def test_duplicate_memory_reinforces_existing(home: Home) -> None:
    """WHEN an active memory exists with service=`jellyfin`, category=`timing`,
      observation=`Takes 60s to start after restart`, confidence=0.7
    WHEN the agent emits `[MEMORY:timing:jellyfin] Takes about 60 seconds to start after a restart`
    THEN the existing memory's confidence increases to 0.8 and `updated_at` is refreshed
    THEN no new row is inserted
    """
    knows(home, ("jellyfin", "timing", SLOW_START, 0.7))
    ((created_at, before),) = memories(home, "created_at, updated_at")

    ran = home.says("[MEMORY:timing:jellyfin] Takes about 60 seconds to start after a restart")

    assert memories(home) == [("timing", "jellyfin", SLOW_START, 0.8)]
    ((still, after),) = memories(home, "created_at, updated_at")
    assert (still, after > before) == (created_at, True)
    assert (ran.session["learned"], ran.session["reinforced"]) == (0, 1)


def test_different_category_creates_new_memory(home: Home) -> None:
    """WHEN an active memory exists with service=`jellyfin`, category=`timing`, observation=`Takes
      60s to start`
    WHEN the agent emits `[MEMORY:behavior:jellyfin] Sometimes crashes on first start`
    THEN a new memory row is created (different category, not a reinforcement)
    """
    knows(home, ("jellyfin", "timing", "Takes 60s to start", 0.7))

    home.says("[MEMORY:behavior:jellyfin] Sometimes crashes on first start")

    assert memories(home) == [
        ("timing", "jellyfin", "Takes 60s to start", 0.7),
        ("behavior", "jellyfin", "Sometimes crashes on first start", 0.7),
    ]


def test_contradicting_memory_reduces_confidence(home: Home) -> None:
    """WHEN an active memory exists with service=`caddy`, category=`dependency`,
      observation=`Must be started after WireGuard`, confidence=0.8
    WHEN the agent emits `[MEMORY:dependency:caddy] Can be started independently of WireGuard`
    THEN the existing memory's confidence decreases to 0.6
    THEN the new contradicting memory is inserted with confidence=0.7
    """
    knows(home, ("caddy", "dependency", "Must be started after WireGuard", 0.8))

    home.says("[MEMORY:dependency:caddy] Can be started independently of WireGuard")

    assert memories(home) == [
        ("dependency", "caddy", "Must be started after WireGuard", 0.6),
        ("dependency", "caddy", "Can be started independently of WireGuard", 0.7),
    ]
    assert memories(home, "active, inactive_reason") == [(1, None)] * 2


def test_contradiction_deactivates_low_confidence_memory(home: Home) -> None:
    """WHEN an active memory exists with confidence=0.4
    WHEN a contradicting memory is emitted
    THEN the existing memory's confidence drops to 0.2 and `active` is set to 0
    """
    knows(home, ("caddy", "dependency", "Must be started after WireGuard", 0.4))

    home.says("[MEMORY:dependency:caddy] Can be started independently of WireGuard")

    assert memories(home, "confidence, active") == [(0.2, 0), (0.7, 1)]
    told = block(home.says("x").told["injected"])
    assert ("Must be started" in told, "independently" in told) == (False, True)


def test_filter_by_service(client: httpx2.Client) -> None:
    """WHEN the operator selects a service filter on the memories page
    THEN only memories for that service (or general if selected) are displayed
    """
    for service in ("filtered", "unfiltered", None):
        created(client, service=service)

    for asked, kept in (("filtered", {"filtered"}), ("general", {None})):
        rows = client.get("/api/v1/memories", params={"service": asked}).json()["items"]
        assert {each["service"] for each in rows} == kept


def test_filter_by_category(client: httpx2.Client) -> None:
    """WHEN the operator selects a category filter on the memories page
    THEN only memories with that category are displayed
    """
    for category in ("behavior", "maintenance"):
        created(client, category=category)

    rows = client.get("/api/v1/memories", params={"category": "behavior"}).json()["items"]

    assert {each["category"] for each in rows} == {"behavior"}


def test_create_memory_manually(server: Server, client: httpx2.Client) -> None:
    """WHEN the operator clicks "Add Memory" and fills in category=`maintenance`,
      service=`postgres`, observation=`Needs manual VACUUM FULL weekly`, confidence=0.9
    THEN a new memory is inserted with the specified values, `session_id = NULL` (operator-
      created), and `active = 1`
    """
    made = created(
        client,
        category="maintenance",
        service="postgres",
        observation="Needs manual VACUUM FULL weekly",
        confidence=0.9,
    )

    columns = "category, service, observation, confidence, session_id, active"
    assert server.home.rows(f"SELECT {columns} FROM memories WHERE id = ?", made["id"]) == [
        ("maintenance", "postgres", "Needs manual VACUUM FULL weekly", 0.9, None, 1)
    ]


def test_edit_memory_observation(client: httpx2.Client) -> None:
    """WHEN the operator clicks edit on a memory and changes the observation text
    THEN the memory's `observation` is updated, `updated_at` is refreshed, and confidence is
      unchanged
    """
    made = created(client, confidence=0.4)

    changed = client.patch(
        f"/api/v1/memories/{made['id']}", json={"observation": "Takes 90s"}
    ).json()

    assert (changed["observation"], changed["confidence"]) == ("Takes 90s", 0.4)
    assert changed["updated_at"] > made["updated_at"]


def test_adjust_memory_confidence(client: httpx2.Client) -> None:
    """WHEN the operator adjusts a memory's confidence slider from 0.7 to 0.95
    THEN the memory's `confidence` is updated to 0.95 and `updated_at` is refreshed
    """
    made = created(client)

    changed = client.patch(f"/api/v1/memories/{made['id']}", json={"confidence": 0.95}).json()

    assert changed["confidence"] == 0.95
    assert changed["updated_at"] > made["updated_at"]


def test_delete_memory(server: Server, client: httpx2.Client) -> None:
    """WHEN the operator clicks delete on a memory and confirms
    THEN the memory row is permanently removed from the database
    """
    made = created(client)

    assert client.delete(f"/api/v1/memories/{made['id']}").status_code == 204

    assert server.home.rows("SELECT * FROM memories WHERE id = ?", made["id"]) == []


def test_bulk_delete(server: Server, client: httpx2.Client) -> None:
    """WHEN the operator selects 5 memories and clicks "Delete Selected"
    THEN all 5 memory rows are permanently removed from the database
    """
    ids = [created(client)["id"] for _ in range(5)]
    kept = created(client)["id"]

    answer = client.post("/api/v1/memories/bulk", json={"ids": ids, "action": "delete"})

    assert answer.json()["changed"] == 5
    left = [id for (id,) in server.home.rows("SELECT id FROM memories")]
    assert (kept in left, set(ids) & set(left)) == (True, set())


def recording(home: Home, tier: int) -> str:
    """Return the section of a tier's prompt on how to record memories."""
    system = str(home.says("x", tier=tier).told["system"])
    return system[system.index("## Memory Recording") :]


def test_tier_1_prompt_includes_memory_instructions(home: Home) -> None:
    """WHEN the tier-1 observe prompt is loaded
    THEN it contains a section explaining the `[MEMORY:...]` marker format, listing valid
      categories, and providing examples
    """
    section = recording(home, 1)

    assert "[MEMORY:category] " in section
    assert "[MEMORY:category:service] " in section
    for category in OPERATIONAL:
        assert f"- {category}: " in section
    examples = [found.groups() for found in MEMORY.finditer(section)]
    assert len(examples) >= 3
    assert {service is None for _, service, _ in examples} == {True, False}


def test_tier_2_prompt_includes_memory_instructions(home: Home) -> None:
    """WHEN the tier-2 investigate prompt is loaded
    THEN it contains the same memory recording instructions as Tier 1
    """
    assert recording(home, 2) == recording(home, 1)


def test_tier_3_prompt_includes_memory_instructions(home: Home) -> None:
    """WHEN the tier-3 remediate prompt is loaded
    THEN it contains the same memory recording instructions as Tier 1
    """
    assert recording(home, 3) == recording(home, 1)


def test_formatted_output_matches_expected_structure(home: Home) -> None:
    """WHEN `buildMemoryContext()` runs with memories for `jellyfin` (2 memories) and `general` (1
      memory)
    THEN the output resembles:
          ## Operational Memory (3 memories, ~412 tokens)

          ### jellyfin
          - [timing] Takes 60s to start after restart (confidence: 0.9)
          - [behavior] First restart always fails due to DB lock (confidence: 0.8)

          ### general
          - [remediation] DNS checks sometimes fail transiently during WireGuard reconnects
        (confidence: 0.6)
    """
    knows(
        home,
        ("jellyfin", "timing", "Takes 60s to start after restart", 0.9),
        ("jellyfin", "behavior", "First restart always fails due to DB lock", 0.8),
        (
            None,
            "remediation",
            "DNS checks sometimes fail transiently during WireGuard reconnects",
            0.6,
        ),
    )

    assert block(home.says("x").told["injected"]) == (
        "## Operational Memory (3 memories, ~78 tokens)\n"
        "\n"
        "### jellyfin\n"
        "- [timing] Takes 60s to start after restart (confidence: 0.9)\n"
        "- [behavior] First restart always fails due to DB lock (confidence: 0.8)\n"
        "\n"
        "### general\n"
        "- [remediation] DNS checks sometimes fail transiently during WireGuard reconnects"
        " (confidence: 0.6)\n"
    )


def test_inactive_memory_excluded_from_prompt(home: Home) -> None:
    """WHEN `buildMemoryContext()` runs and a memory has `active = 0`
    THEN that memory is excluded from the output regardless of its confidence score
    """
    knows(home, ("jellyfin", "timing", "Put aside", 0.9), active=0)
    knows(home, ("jellyfin", "timing", "Still true", 0.9))

    injected = home.says("x").told["injected"]

    assert ("Put aside" in injected, "Still true" in injected) == (False, True)
    assert len(memories(home)) == 2


def test_reactivate_an_inactive_memory(server: Server, client: httpx2.Client) -> None:
    """WHEN the operator edits an inactive memory and sets its confidence above 0.3
    THEN the memory's `active` flag is set to 1 and it becomes eligible for prompt injection
    """
    made = created(client, observation="Comes back", confidence=0.1)
    assert made["active"] is False

    changed = client.patch(f"/api/v1/memories/{made['id']}", json={"confidence": 0.5}).json()

    assert changed["active"] is True
    assert "Comes back (confidence: 0.5)" in server.home.says("x").told["injected"]


def untouched(home: Home, days: int, confidence: float) -> tuple[Any, ...]:
    """Begin a session with a memory of some days ago; return its confidence and state."""
    knows(home, ("jellyfin", "timing", SLOW_START, confidence))
    ago = f"strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now', '-{days} days')"
    home.write(f"UPDATE memories SET created_at = {ago}, updated_at = {ago}")
    home.says("nothing new")
    return home.rows("SELECT confidence, active FROM memories")[0]


def test_fresh_memory_not_decayed(home: Home) -> None:
    """WHEN a memory was last updated 15 days ago
    THEN its confidence is unchanged during the staleness check
    """
    assert untouched(home, 15, 0.7) == (0.7, 1)


def test_stale_memory_decayed(home: Home) -> None:
    """WHEN a memory was last updated 44 days ago (14 days past the 30-day grace period = 2 weeks)
    THEN its confidence is reduced by 0.2 (0.1 per week x 2 weeks) during the staleness check
    """
    assert untouched(home, 44, 0.7) == (0.5, 1)


def test_decay_deactivates_memory(home: Home) -> None:
    """WHEN a stale memory has confidence 0.4 and has not been updated for 44 days
    THEN after decay (0.4 - 0.2 = 0.2), the memory is marked `active = 0`
    """
    assert untouched(home, 44, 0.4) == (0.2, 0)
