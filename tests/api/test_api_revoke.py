"""Revocations over HTTP: previewed, done and undone."""

import httpx2

REVOCATIONS = "/api/v1/revocations"
OBSERVATIONS = "/agentops/observations"


def test_a_revocation_is_previewed_applied_and_undone(own_client: httpx2.Client) -> None:
    opened = {"id": "s1", "project": "web"}
    assert own_client.post("/agentops/sessions", json=opened).is_success
    said = {
        "type": "decision",
        "title": "Store",
        "content": "We decided to use Redis for sessions",
        "topic_key": "store",
        "session_id": "s1",
        "project": "web",
    }
    assert own_client.post(OBSERVATIONS, json=said).is_success
    memory = own_client.get("/api/v1/memories").json()["items"][0]
    origin = {"session": memory["session_id"]}

    shown = own_client.post(f"{REVOCATIONS}/preview", json=origin)
    assert shown.status_code == 200, shown.text
    found = shown.json()
    assert [each["id"] for each in found["removed"]] == [memory["id"]]
    assert (found["act"], [each["scope"] for each in found["effects"]]) == (None, ["project web"])
    assert own_client.get(f"/api/v1/memories/{memory['id']}").json() == memory

    done = own_client.post(REVOCATIONS, json=origin).json()
    assert own_client.get(f"/api/v1/memories/{memory['id']}").status_code == 404
    act = own_client.get("/api/v1/acts").json()["items"][0]
    assert (act["id"], act["action"], act["final"]) == (done["act"], "withdraw", None)

    undone = own_client.post(f"/api/v1/acts/{done['act']}/undo", json={})
    assert undone.status_code == 200, undone.text
    back = own_client.get(f"/api/v1/memories/{memory['id']}").json()
    assert (back["observation"], back["active"]) == (memory["observation"], True)


def test_an_unknown_session_or_invalid_selection_is_rejected(own_client: httpx2.Client) -> None:
    assert own_client.post(REVOCATIONS, json={"session": 9}).status_code == 404
    assert own_client.post(REVOCATIONS, json={}).status_code == 422
    assert own_client.post(REVOCATIONS, json={"session": 1, "agent": "x"}).status_code == 422
