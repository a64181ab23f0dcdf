"""PostgreSQL commits a request, and the answer is lost: the response says what may be changed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

import direct_writes
from contexts import context
from lamplighter.config.settings import read_settings
from lamplighter.repository import Database
from lamplighter.repository.store.driver import OperationalError
from lamplighter.serve.editing.sources import build_context
from lamplighter.usecases.configuration import services
from lamplighter.usecases.outages import UNCONFIRMED
from living import Home, Server
from lost_answers import losing

MEMORIES = 1_200
LOWERED = "SELECT count(*) FROM memories WHERE confidence < 0.7"
CHECKS = [{"disk": "/", "free": "1%", "warn": "1%"}]
END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@dataclass
class Lossy:
    """A web process whose connections to PostgreSQL are cut at the commits that a test chooses."""

    url: str
    home: Home
    loses: Callable[[], bool] = lambda: False
    lost: int = 0
    server: Server | None = None

    def decide(self) -> bool:
        loses = self.loses()
        self.lost += loses
        return loses

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return direct_writes.run(self.url, query)

    async def send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        assert self.server is not None
        headers = {**self.home.way_in, **more.pop("headers", {})}
        path = path if path.startswith("/agentops/") else f"/api/v1{path}"
        async with httpx2.AsyncClient(
            base_url=self.server.url, headers=headers, timeout=60
        ) as asking:
            return await asking.request(method, path, **more)


@pytest.fixture
async def lossy(postgres_url: str, tmp_path: Path) -> AsyncIterator[Lossy]:
    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        here = Lossy(postgres_url, Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": ""}))
        async with losing(postgres_url, Path(there), here.decide) as url:
            here.home.more["LAMPLIGHTER_DATABASE_URL"] = url
            here.server = await asyncio.to_thread(Server, here.home)
            assert (await here.send("GET", "/memories")).status_code == 200
            yield here
            here.server.kill()


def insert_memories(here: Lossy) -> None:
    at = "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    here.rows(
        "INSERT INTO memories (category, observation, confidence, created_at, updated_at)"
        f" SELECT 'timing', 'Takes ' || n, 0.7, {at}, {at}"
        f" FROM generate_series(1, {MEMORIES}) AS n RETURNING id"
    )


def lowered(here: Lossy) -> int:
    return int(here.rows(LOWERED)[0][0])


async def test_a_write_that_was_not_confirmed_is_not_called_undone(lossy: Lossy) -> None:
    lossy.loses = lambda: True
    answer = await lossy.send("POST", "/events", json={"level": "info", "text": "Once"})
    lossy.loses = lambda: False
    next_one = await lossy.send("POST", "/events", json={"level": "info", "text": "Twice"})

    assert answer.status_code == 503
    assert "Retry-After" not in answer.headers  # a client that repeats it would save it twice
    assert answer.json()["detail"] == (
        "The database did not confirm the change. It may have been made: "
        "check before you try again."
    )
    assert next_one.status_code == 201
    assert lossy.rows("SELECT text FROM events ORDER BY id") == [("Once",), ("Twice",)]


async def test_a_command_whose_change_was_not_confirmed_says_so(lossy: Lossy) -> None:
    stored = "SELECT count(*) FROM memories"
    lossy.loses = lambda: True

    done = await asyncio.to_thread(lossy.home.ask, "memory", "add", "timing", "Takes 60 s")

    assert (done.returncode, done.stderr) == (1, f"lamplighter: {UNCONFIRMED}\n")
    assert lossy.rows(stored) == [(1,)]


async def test_a_bulk_change_that_ends_half_way_names_its_act(lossy: Lossy) -> None:
    insert_memories(lossy)
    lossy.loses = lambda: 0 < lowered(lossy) < MEMORIES
    lower = {"filter": {"category": "timing"}, "action": "adjust", "value": -0.1}

    answer = await lossy.send("POST", "/memories/bulk", json=lower)
    lossy.loses = lambda: False
    done = lowered(lossy)
    act = answer.headers.get("Lamplighter-Act")
    back = await lossy.send("POST", f"/acts/{act}/undo", json={})

    assert (answer.status_code, act) == (503, "1")
    assert answer.json()["detail"] == (
        "The database is not available. Act 1 may have changed some of the rows: "
        "check it in the journal before you try again."
    )
    assert 0 < done < MEMORIES
    assert (back.status_code, back.json()["changed"], lowered(lossy)) == (200, done, 0)


async def test_an_agentops_import_names_its_act_also_if_it_ends_half_way(lossy: Lossy) -> None:
    stored = "SELECT count(*) FROM memories"
    rows = [
        {"id": n, "type": "decision", "title": f"T {n}", "content": f"C {n}"} for n in range(900)
    ]
    lossy.loses = lambda: 0 < lossy.rows(stored)[0][0] < 900

    half = await lossy.send("POST", "/agentops/import", json={"observations": rows})
    lossy.loses = lambda: False
    whole = await lossy.send("POST", "/agentops/import", json={"observations": rows})
    undone = await lossy.send("POST", f"/acts/{half.headers['Lamplighter-Act']}/undo")

    assert half.status_code == 503
    assert half.json()["error"] == (
        "The database is not available. Act 1 may have changed some of the rows: "
        "check it in the journal before you try again."
    )
    assert whole.status_code == 200
    assert int(whole.headers["Lamplighter-Act"]) > int(half.headers["Lamplighter-Act"])
    assert 0 < undone.json()["changed"] < 900
    assert lossy.rows(stored) == [(900 - undone.json()["changed"],)]


async def test_an_undo_that_ends_half_way_is_completed_by_the_next(lossy: Lossy) -> None:
    insert_memories(lossy)
    lower = {"filter": {"category": "timing"}, "action": "adjust", "value": -0.1}
    done = await lossy.send("POST", "/memories/bulk", json=lower)
    lossy.loses = lambda: 0 < lowered(lossy) < MEMORIES

    half = await lossy.send("POST", "/acts/1/undo", json={})
    lossy.loses = lambda: False
    left = lowered(lossy)
    again = await lossy.send("POST", "/acts/1/undo", json={})

    assert (done.json()["changed"], half.status_code) == (MEMORIES, 503)
    assert "Act 2 may have changed some of the rows" in half.json()["detail"]
    assert 0 < left < MEMORIES
    assert (again.status_code, lowered(lossy)) == (200, 0)


@pytest.mark.parametrize("committed", [True, False])
async def test_an_edit_of_services_yaml_agrees_with_its_act(
    postgres_url: str, tmp_path: Path, *, committed: bool
) -> None:
    file, lost = tmp_path / "services.yaml", list[bool]()
    file.write_text("services: {}\n")
    files = build_context(read_settings({"LAMPLIGHTER_HOME": str(tmp_path)}))

    def loses() -> bool:
        if not lost and "new:" in file.read_text():
            lost.append(True)
            if not committed:
                direct_writes.run(postgres_url, END_OTHERS)
            return True
        return False

    with TemporaryDirectory(dir="/tmp") as there:
        async with losing(postgres_url, Path(there), loses) as url, Database(url) as db:
            version = await services.read(files)
            edit = services.ServiceEdit(name="new", fields={"checks": CHECKS}, new=True)
            with nullcontext() if committed else pytest.raises(OperationalError):
                await services.save(context(db), files, edit, etag=version.etag, by="a person")

    acts = direct_writes.run(postgres_url, "SELECT action, changed FROM acts")
    assert lost == [True]
    assert acts == ([("configure", 1)] if committed else [])
    assert ("new:" in file.read_text()) is committed
    assert not (tmp_path / "edits" / "pending").exists()
