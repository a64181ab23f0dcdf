"""Operations of an operator are named by each response, listed, and undone over HTTP."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from living import Server

MEMORIES = "/api/v1/memories"
HEADER = "Lamplighter-Act"
FAILING = """
services:
  web:
    checks: [{tcp: "127.0.0.1:9", retries: 0}]
    actions:
      - restart: [/bin/true]
        wait: 1s
"""


def new(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    given = {"category": "timing", "observation": "Takes 60s", "service": "undone", **more}
    found: dict[str, Any] = client.post(MEMORIES, json=given).json()
    return found


def undo(client: httpx2.Client, act: str, **more: Any) -> httpx2.Response:
    return client.post(f"/api/v1/acts/{act}/undo", json=more)


def test_a_deletion_is_undone_by_the_act_in_its_response(client: httpx2.Client) -> None:
    made = new(client, project="shop", category="decision", topic_key="db/wal")
    address = f"{MEMORIES}/{made['id']}"
    before = client.get(address)

    gone = client.delete(address)
    there = client.get("/api/v1/trash", params={"q": "takes"}).json()["items"]
    missing = client.get(address)
    answer = undo(client, gone.headers[HEADER])

    assert (gone.status_code, missing.status_code) == (204, 404)
    assert missing.json()["detail"] == (f"Memory {made['id']} is in the trash. Restore it first.")
    thrown = next(each for each in there if each["id"] == made["id"])
    assert (thrown["memory"], thrown["deleted_by"]) == (made, "operator")
    assert thrown["act"] == int(gone.headers[HEADER])
    assert thrown["purge_at"] > thrown["deleted_at"]
    assert answer.status_code == 200
    after = client.get(address)
    assert (after.json(), after.headers["ETag"]) == (before.json(), before.headers["ETag"])


def test_undo_of_an_edit_is_rejected_if_the_memory_changed_later(client: httpx2.Client) -> None:
    made = new(client)
    address = f"{MEMORIES}/{made['id']}"
    first = client.patch(address, json={"observation": "Takes 90s"}).headers[HEADER]
    second = client.patch(address, json={"confidence": 1.0}).headers[HEADER]

    refused = undo(client, first)
    for act in (second, first):
        assert undo(client, act).status_code == 200

    assert refused.status_code == 409
    told = f"Nothing was undone. Memory {made['id']} was later edited by the operator (version 3)."
    assert refused.json()["detail"] == told
    assert {**client.get(address).json(), "version": 1} == made
    acts = client.get("/api/v1/acts", params={"limit": 4}).json()["items"]
    assert [each["action"] for each in acts] == ["undo", "undo", "edit", "edit"]
    assert acts[3]["undone_by"] == acts[0]["id"]


def test_a_cooldown_reset_is_undone_once(own_server: Server, own_client: httpx2.Client) -> None:
    client, used = own_client, "/api/v1/cooldowns/uses"
    own_server.home.services.write_text(FAILING)
    own_server.home.run(tier=3, words=("--engine", "probe"))
    before = client.get(used).json()["items"]

    reset = client.post("/api/v1/cooldowns/web/resets", json={}).headers[HEADER]
    cleared = client.get(used).json()["items"]
    first, second = undo(client, reset), undo(client, reset)

    assert [each["cleared_by"] for each in cleared] == ["operator"]
    assert (first.status_code, second.status_code) == (200, 409)
    assert second.json()["detail"] == (
        f"Act {reset} was already undone by act {first.json()['act']}."
    )
    after = client.get(used).json()["items"]
    assert [{**each, "version": 1} for each in after] == [{**each, "version": 1} for each in before]


def test_a_restore_and_an_undo_need_no_body(client: httpx2.Client) -> None:
    made = new(client, observation="Fails on Fridays")
    client.delete(f"{MEMORIES}/{made['id']}")

    restored = client.post(f"/api/v1/trash/{made['id']}/restore")
    undone = client.post(f"/api/v1/acts/{restored.headers[HEADER]}/undo")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = client.post("/api/v1/acts/1/undo", headers=form)

    assert (restored.status_code, restored.json()) == (200, made)
    assert undone.status_code == 200
    assert refused.status_code == 415


@pytest.mark.parametrize("how", ["restore", "purge"])
def test_the_trash_restores_or_permanently_deletes_a_memory(
    client: httpx2.Client, how: str
) -> None:
    made = new(client, observation=f"Fails on Mondays, {how}")
    address, thrown = f"{MEMORIES}/{made['id']}", f"/api/v1/trash/{made['id']}"
    deletion = client.delete(address).headers[HEADER]

    if how == "restore":
        assert client.post(f"{thrown}/restore", json={}).json() == made
        assert client.get(address).json() == made
        assert client.post(f"{thrown}/restore", json={}).status_code == 404
    else:
        done = client.delete(thrown)
        assert done.status_code == 204
        assert undo(client, deletion).status_code == 409
        assert undo(client, done.headers[HEADER]).json()["detail"] == (
            "Permanently deleted memories cannot be restored."
        )
        assert "Mondays" not in client.get(f"{address}/history").text


def test_irreversible_acts_are_listed_with_the_reason(
    own_server: Server, own_client: httpx2.Client
) -> None:
    client, home = own_client, own_server.home
    made = client.post("/api/v1/tokens", json={"name": "phone", "scopes": ["memories:read"]}).json()
    client.put("/api/v1/halt", json={"reason": "the rack is being moved"})
    client.delete("/api/v1/halt")
    ran = home.says("> [MEMORY:timing:by-hand] Takes 60s")
    [mark] = client.get(f"/api/v1/sessions/{ran.id}/markers").json()["items"]
    taken = client.put(f"/api/v1/markers/{mark['id']}/accepted", json={}).json()
    shown = {"Authorization": f"Bearer {made['token']}"}
    hidden = httpx2.get(f"{own_server.url}/api/v1/acts", headers=shown).json()["items"]
    client.delete(f"/api/v1/tokens/{made['id']}")

    acts = client.get("/api/v1/acts").json()["items"]

    phone, text = f"token {made['id']}, phone", "[MEMORY:timing:by-hand] Takes 60s"
    assert [(each["action"], each["subject"], each["memory_id"]) for each in acts] == [
        ("revoke", phone, None),
        ("take", text, taken["memory_id"]),
        ("resume", "the rack is being moved", None),
        ("halt", "the rack is being moved", None),
        ("token", phone, None),
    ]
    assert {each["subject"] for each in hidden} == {None}
    for each in acts:
        refused = undo(client, str(each["id"]))
        assert (refused.status_code, refused.json()["detail"]) == (409, each["final"])


def test_an_import_is_one_act_and_can_be_undone(
    own_server: Server, own_client: httpx2.Client, tmp_path: Path
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# The pool\n\nHolds 40 connections.\n\n# The port\n\nIs 5432.\n")
    dry = own_server.home.ask("import", "--sections", "--project", "shop", "--dry-run", str(file))
    done = [
        own_server.home.ask("import", "--sections", "--project", "shop", str(file))
        for _ in range(2)
    ]
    assert [each.returncode for each in (dry, *done)] == [0, 0, 0], done[0].stderr

    acts = own_client.get("/api/v1/acts").json()["items"]

    assert [(each["action"], each["subject"], each["changed"]) for each in acts] == [
        ("import", "notes.md", 2)
    ], "the first one alone: a second import of the same changes nothing"
    undone = undo(own_client, str(acts[0]["id"]))
    again = undo(own_client, str(acts[0]["id"]))
    left = own_client.get(MEMORIES).json()["total"]
    own_server.home.ask("import", "--sections", "--project", "shop", str(file))
    back = own_client.get(MEMORIES).json()["total"]

    assert (acts[0]["final"], undone.status_code, undone.json()["changed"]) == (None, 200, 2)
    assert (again.status_code, left, back) == (409, 0, 2)


def test_an_import_without_a_recorded_memory_cannot_be_undone(
    own_server: Server, own_client: httpx2.Client, tmp_path: Path
) -> None:
    file = tmp_path / "export.json"
    file.write_text('{"sessions": [{"id": "one", "project": "shop"}]}')
    done = own_server.home.ask("import", str(file))

    act = own_client.get("/api/v1/acts").json()["items"][0]
    refused = undo(own_client, str(act["id"]))

    assert (done.returncode, act["action"], act["changed"]) == (0, "import", 1)
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        f"Act {act['id']} changed no memory that can be restored. "
        "Imported sessions and prompts stay.",
    )


def test_a_read_returns_no_act(client: httpx2.Client) -> None:
    made = new(client)

    assert HEADER not in client.get(f"{MEMORIES}/{made['id']}").headers
    assert undo(client, "999999").status_code == 404
