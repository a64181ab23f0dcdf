"""kill -9 during an act on many memories, and during its undo: the next undo continues."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from staged import client

import direct_writes
from living import Home, Server

ITEMS = 1_800
ROWS = [
    {"id": number, "type": "decision", "title": f"Item {number}", "content": f"Text {number}"}
    for number in range(ITEMS)
]


def trashed(url: str) -> int:
    return int(direct_writes.run(url, "SELECT count(*) FROM trash")[0][0])


def cut_off(server: Server, path: str, body: dict[str, Any], until: Callable[[], bool]) -> None:
    """Send a request, and kill the server (SIGKILL) as soon as a condition holds."""

    answers: list[str] = []

    def post() -> None:
        with suppress(httpx2.HTTPError), client(server) as asking:
            answers.append(asking.post(path, json=body).text)

    request = threading.Thread(target=post)
    request.start()
    while not until():
        assert request.is_alive() or until(), answers
        time.sleep(0.001)
    server.kill()
    request.join()


@pytest.mark.parametrize("dialect", ["sqlite", "postgres_url"])
def test_killed_bulk_act_is_undone_in_short_writes_that_survive_a_kill(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(request.getfixturevalue(dialect))
    home, file = Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": url}), tmp_path / "a.json"
    file.write_text(json.dumps({"observations": ROWS}))
    assert home.ask("import", str(file)).returncode == 0
    server = Server(home)
    try:
        path, body = "/api/v1/memories/bulk", {"filter": {}, "all": True, "action": "delete"}
        cut_off(server, path, body, lambda: trashed(url) >= ITEMS // 2)
        deleted = trashed(url)
        [(act,)] = direct_writes.run(url, "SELECT id FROM acts WHERE action = 'delete'")
        direct_writes.delay(url, "DELETE ON trash")  # else all is undone before a busy test kills
        server.start()

        cut_off(server, f"/api/v1/acts/{act}/undo", {}, lambda: trashed(url) < deleted)
        rest = trashed(url)
        direct_writes.remove_delay(url, "trash")
        server.start()
        with client(server) as asking:
            undone = asking.post(f"/api/v1/acts/{act}/undo", json={})
            again = asking.post(f"/api/v1/acts/{act}/undo", json={})
    finally:
        server.kill()

    assert 0 < rest < deleted
    assert (undone.status_code, undone.json()["changed"], undone.json()["left"]) == (200, rest, 0)
    assert trashed(url) == 0
    assert again.status_code == 409
    assert "was already undone by act" in again.json()["detail"]
    restored = "SELECT count(*), count(DISTINCT memory_id) FROM history WHERE cause = 'restored'"
    assert direct_writes.run(url, restored) == [(deleted, deleted)]
