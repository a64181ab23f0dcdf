"""Conformance, lifecycle and doors: over the API and through sessions that live and die.

The ids and the ends of the names are the numbers of the cases.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lamplighter.repository import migrate
from lamplighter.repository.database import sqlite_url
from living import Home, Server

MEMORIES = "/api/v1/memories"
SAID = "Takes 60s to start after restart"


def created(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    answer = client.post(MEMORIES, json={"category": "timing", "observation": SAID, **more})
    assert answer.status_code == 201
    found: dict[str, Any] = answer.json()
    return found


def test_said_again_it_grows_but_not_by_its_own_session_40(home: Home) -> None:
    marker = f"[MEMORY:timing:jellyfin] {SAID}"

    heard = [home.says(*[marker] * 3) and home.value("SELECT confidence FROM memories")]
    heard += [home.says(marker) and home.value("SELECT confidence FROM memories") for _ in "12"]
    home.write("UPDATE memories SET confidence = 0.95")
    heard += [home.says(marker) and home.value("SELECT confidence FROM memories")]

    assert heard == [0.7, 0.8, 0.9, 1.0]


def test_an_inactive_twin_is_revived_46(server: Server, client: httpx2.Client) -> None:
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
def test_what_an_operator_changes(
    client: httpx2.Client, given: dict[str, Any], change: dict[str, Any], kept: dict[str, Any]
) -> None:
    made = created(client, **given)

    changed = client.patch(f"{MEMORIES}/{made['id']}", json=change).json()

    assert {key: changed[key] for key in kept} == kept
    assert changed["updated_at"] > made["updated_at"]
    untouched = {"id", "service", "category", "session_id", "created_at", "tier"} - change.keys()
    assert {key: changed[key] for key in untouched} == {key: made[key] for key in untouched}


def test_what_an_operator_adds_61(client: httpx2.Client) -> None:
    made = created(client, category="maintenance", service="postgres", confidence=0.9)

    assert (made["session_id"], made["active"], made["tier"], made["confidence"]) == (
        None,
        True,
        0,
        0.9,
    )


def test_what_is_deleted_is_gone_and_told_of_once_a_batch_at_once_62(
    client: httpx2.Client,
) -> None:
    ids = [created(client)["id"] for _ in range(6)]
    seq = client.get("/api/v1/changes").json()["seq"]

    client.delete(f"{MEMORIES}/{ids[0]}")
    client.post(f"{MEMORIES}/bulk", json={"ids": ids[1:], "action": "delete"})

    assert {client.get(f"{MEMORIES}/{each}").status_code for each in ids} == {404}
    told = client.get("/api/v1/changes", params={"after": seq}).json()["items"]
    assert [(each["op"], each["id"]) for each in told] == [("deleted", ids[0]), ("batch", 0)]
    assert told[1]["row"]["ids"] == ids[1:]


@pytest.mark.parametrize(
    "given",
    [{"category": "misc"}, {"observation": " \n"}, {"observation": ""}],
    ids=["63-category", "63-blank", "63-empty"],
)
def test_what_is_wrong_is_not_stored(client: httpx2.Client, given: dict[str, Any]) -> None:
    before = client.get(MEMORIES).json()["total"]

    answer = client.post(MEMORIES, json={"category": "timing", "observation": "x", **given})

    assert answer.status_code == 422
    assert client.get(MEMORIES).json()["total"] == before


def test_migrating_twice_changes_nothing_64(home: Home) -> None:
    url = sqlite_url(home.path / "lamplighter.db")

    assert (migrate.upgrade(url), migrate.upgrade(url)) == (True, False)
    names = {name for (name,) in home.rows("SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert {"idx_memories_service", "idx_memories_confidence", "idx_memories_category"} <= names


def test_an_unknown_memory_is_not_found_89(client: httpx2.Client) -> None:
    assert client.patch(f"{MEMORIES}/999999", json={"confidence": 0.5}).status_code == 404


def test_an_inactive_memory_can_be_edited_and_deleted_167(client: httpx2.Client) -> None:
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


def test_the_session_of_a_killed_supervisor_ends_interrupted_99(home: Home, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import json, time\n"
        "for n in range(2000):\n"
        "    words = f'[MEMORY:timing:jellyfin] Fact {n}'\n"
        "    content = [{'type': 'text', 'text': words}]\n"
        "    line = {'type': 'assistant', 'message': {'content': content}}\n"
        "    print(json.dumps(line), flush=True)\n"
        "    time.sleep(0.02)\n"
    )
    env = {
        "LAMPLIGHTER_ENGINE": "exec",
        "LAMPLIGHTER_EXEC_COMMAND": shlex.join([sys.executable, str(engine)]),
    }
    migrate.upgrade(sqlite_url(home.path / "lamplighter.db"))
    with (home.path / "log").open("wb") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "lamplighter", "supervisor"],
            env=home.env | env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 30
        while home.value("SELECT count(*) FROM memories") < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.kill(supervisor.pid, signal.SIGKILL)
        supervisor.wait(10)

    ran = home.says("x")

    assert (ran.id, ran.session["status"]) == (2, "completed")
    ((status, ended, offset, learned),) = home.rows(
        "SELECT status, ended_at IS NOT NULL, log_offset, learned FROM sessions WHERE id = 1"
    )
    assert (status, ended) == ("interrupted", 1)
    printed = (home.path / "sessions" / "1.jsonl").read_bytes()
    assert offset == len(printed)
    facts = [fact for (fact,) in home.rows("SELECT observation FROM memories ORDER BY id")]
    assert facts == [f"Fact {number}" for number in range(printed.count(b"\n"))]
    assert learned == len(facts)
