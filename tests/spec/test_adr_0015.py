"""The confirmations of the ADR on persistent memory, one test each, on real processes."""

import ast
import json
import shlex
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from lamplighter.domain.sessions.context import estimate_tokens
from living import Home, Server, lately

E2E = Path(__file__).parents[2] / "e2e"
SAID = "Takes 60s to start after restart"
PATIENCE = 20.0
WAITS = """
import json, os, sys, time
text = {"type": "text", "text": sys.argv[1]}
print(json.dumps({"type": "assistant", "message": {"content": [text]}}), flush=True)
deadline = time.monotonic() + 60
while not os.path.exists(sys.argv[2]) and time.monotonic() < deadline:
    time.sleep(0.02)
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}))
"""


def knows(home: Home, *rows: tuple[str | None, str, float]) -> None:
    for service, observation, confidence in rows:
        home.write(
            "INSERT INTO memories (service, category, observation, confidence, active, created_at,"
            " updated_at) VALUES (?, 'timing', ?, ?, 1, ?, ?)",
            *(service, observation, confidence, lately(), lately()),
        )


def block(home: Home, *words: str) -> str:
    ran = home.run({"type": "result", "is_error": False}, words=words)
    return str(ran.told["injected"]).partition("## Operational Memory")[2]


@pytest.fixture
def empty(server: Server, client: httpx2.Client) -> Home:
    """Return the server's home, without memories."""
    server.home.more.clear()
    items = client.get("/api/v1/memories", params={"limit": 200}).json()["items"]
    if items:
        ids = [each["id"] for each in items]
        client.post("/api/v1/memories/bulk", json={"ids": ids, "action": "delete"})
    return server.home


def test_memories_created_during_a_session_appear_in_the_dashboard_within_seconds_17(
    server: Server, client: httpx2.Client, empty: Home, tmp_path: Path
) -> None:
    """By the API and by the stream that every page hears, before the session is over."""
    seen, script = tmp_path / "seen", tmp_path / "waits.py"
    script.write_text(WAITS)
    engine = shlex.join(
        [sys.executable, str(script), f"[MEMORY:timing:jellyfin] {SAID}", str(seen)]
    )
    given = {"LAMPLIGHTER_ENGINE": "exec", "LAMPLIGHTER_EXEC_COMMAND": engine}
    with client.stream("GET", "/api/v1/stream", timeout=PATIENCE) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event: "))
        ran = subprocess.Popen(
            [sys.executable, "-m", "lamplighter", "run"],
            env=empty.env | given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            told = (json.loads(line[6:]) for line in lines if line.startswith("data: {"))
            heard = next(each for each in told if "observation" in each.get("row", {}))
            items = client.get("/api/v1/memories").json()["items"]
            session = client.get(f"/api/v1/sessions/{items[0]['session_id']}").json()
        finally:
            seen.touch()
            ran.wait(30)

    assert (heard["op"], heard["row"]["observation"]) == ("created", SAID)
    assert [each["observation"] for each in items] == [SAID]
    assert session["status"] == "running"
    assert client.get(f"/api/v1/sessions/{session['id']}").json()["status"] == "completed"


def test_memories_from_previous_sessions_are_in_the_system_prompt_of_the_next(home: Home) -> None:
    home.says(f"[MEMORY:timing:jellyfin] {SAID}")
    home.says("[MEMORY:remediation] DNS fails now and then; retry once")

    assert block(home) == (
        " (2 memories, ~52 tokens)\n"
        "\n### jellyfin\n"
        f"- [timing] {SAID} (confidence: 0.7)\n"
        "\n### general\n"
        "- [remediation] DNS fails now and then; retry once (confidence: 0.7)\n"
    )


@pytest.mark.parametrize("characters", [1, 40, 399, 7_900, 8_100])
def test_the_total_memory_payload_stays_within_the_budget(home: Home, characters: int) -> None:
    home.says("x")
    count = min(400, 40_000 // characters)
    knows(home, *((f"s{n}", f"{n:03}".ljust(characters, "x"), 0.7) for n in range(count)))

    found = block(home)

    # a line more would not fit, or there is none that fits at all
    whole = estimate_tokens("## Operational Memory" + found) if found else 0
    assert whole <= 2_000
    assert (whole > 1_800 - characters // 4) or characters > 7_900


def test_an_operator_can_create_edit_and_delete_memories_from_the_dashboard(
    client: httpx2.Client, empty: Home
) -> None:
    """Through the API that the dashboard uses; in a browser by the tests named here."""
    given = {"category": "timing", "service": "jellyfin", "observation": SAID}
    made = client.post("/api/v1/memories", json=given).json()
    address = f"/api/v1/memories/{made['id']}"

    changed = client.patch(address, json={"observation": "Takes 90s"}).json()
    told = block(empty)
    client.delete(address)

    assert changed["observation"] == "Takes 90s"
    assert "- [timing] Takes 90s (confidence: 0.7)" in told
    assert client.get(address).status_code == 404
    assert block(empty) == ""
    page = ast.parse((E2E / "test_curate.py").read_text(encoding="utf-8"))
    names = {each.name for each in page.body if isinstance(each, ast.FunctionDef)}
    assert names >= {
        "test_add_memory",
        "test_edit_the_observation_and_the_confidence",
        "test_delete_requires_one_confirmation_and_can_be_undone",
        "test_delete_selected",
    }


def test_a_memory_of_a_service_appears_when_that_service_is_being_checked(home: Home) -> None:
    home.services.write_text("services:\n  jellyfin:\n    checks: [{tcp: 127.0.0.1:9}]\n")
    home.says("x")
    knows(home, *((f"s{n}", f"{n:03} ".ljust(300, "x"), 1.0) for n in range(60)))
    long = f"{SAID} ".ljust(400, "y")
    knows(home, ("jellyfin", long, 0.3))

    round_, checked = block(home), block(home, "--services", "jellyfin")

    assert SAID not in round_
    assert f"\n### jellyfin\n- [timing] {long} (confidence: 0.3)\n" in checked
    assert estimate_tokens("## Operational Memory" + checked) <= 2_000
