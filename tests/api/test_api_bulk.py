"""Bulk operations on all memories that match a filter, over HTTP."""

from typing import Any

import httpx2

MEMORIES = "/api/v1/memories"


def new(client: httpx2.Client, service: str, confidence: float) -> int:
    given = {"category": "timing", "observation": "Slow", "service": service}
    answer = client.post(MEMORIES, json={**given, "confidence": confidence})
    return int(answer.json()["id"])


def stood(client: httpx2.Client, service: str) -> list[tuple[float, bool]]:
    rows = client.get(MEMORIES, params={"service": service, "sort": "created"}).json()["items"]
    return [(each["confidence"], each["active"]) for each in rows[::-1]]


def act(client: httpx2.Client, **given: Any) -> dict[str, Any]:
    answer = client.post(f"{MEMORIES}/bulk", json=given)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_bulk_change_of_a_filter_is_undone_as_one_act(client: httpx2.Client) -> None:
    for confidence in (0.2, 0.5, 0.9):
        new(client, "many", confidence)
    other = new(client, "other", 0.5)
    found = {"service": "MANY", "state": "active"}

    done = act(client, filter=found, action="adjust", value=-0.3)

    assert {**done, "seq": 0, "act": 0} == {"changed": 2, "left": 0, "seq": 0, "act": 0}
    assert stood(client, "many") == [(0.2, False), (0.2, False), (0.6, True)]
    back = client.post(f"/api/v1/acts/{done['act']}/undo", json={}).json()
    assert (back["changed"], back["left"]) == (2, 0)
    assert stood(client, "many") == [(0.2, False), (0.5, True), (0.9, True)]
    past = client.get(f"{MEMORIES}/{other}/history").json()["items"]
    assert [each["cause"] for each in past] == ["created"]


def test_a_preview_of_a_bulk_act_reports_changes_and_stores_none(client: httpx2.Client) -> None:
    ids = [new(client, "foreseen", confidence) for confidence in (0.2, 0.35, 0.9)]
    given = {"filter": {"service": "foreseen"}, "action": "adjust", "value": -0.1}

    found = act(client, **given, preview=True)

    seen = found["preview"]
    assert (found["changed"], found["left"], found["act"]) == (3, 0, None)
    assert (seen["matched"], seen["turn_inactive"], seen["turn_active"]) == (3, 1, 0)
    first = seen["examples"][0]
    assert (first["before"]["id"], first["after"]["confidence"]) == (ids[1], 0.25)
    assert (first["before"]["active"], first["after"]["active"]) == (True, False)
    assert stood(client, "foreseen") == [(0.2, False), (0.35, True), (0.9, True)]
    done = act(client, **given)
    assert (done["changed"], done["left"]) == (found["changed"], found["left"])


def test_bulk_activation_skips_memories_with_low_confidence(client: httpx2.Client) -> None:
    ids = [new(client, "low", confidence) for confidence in (0.1, 0.5)]
    act(client, ids=ids, action="deactivate")

    done = act(client, ids=ids, action="activate")

    assert (done["changed"], done["left"], done["ids"]) == (1, 1, ids[1:])
    assert stood(client, "low") == [(0.1, False), (0.5, True)]


def test_a_bulk_deletion_is_undone_as_one_act(client: httpx2.Client) -> None:
    ids = [new(client, "gone", confidence) for confidence in (0.5, 0.9)]
    before = [client.get(f"{MEMORIES}/{each}").json() for each in ids]
    done = act(client, filter={"service": "gone"}, action="delete")
    assert stood(client, "gone") == []

    answer = client.post(f"/api/v1/acts/{done['act']}/undo", json={}).json()

    assert (answer["changed"], answer["left"], answer["undoes"]["action"]) == (2, 0, "delete")
    assert [client.get(f"{MEMORIES}/{each}").json() for each in ids] == before


def test_a_bulk_act_is_one_change_in_the_feed(client: httpx2.Client) -> None:
    ids = [new(client, "told", 0.5) for _ in range(3)]
    before = client.get(MEMORIES).json()["seq"]

    done = act(client, filter={"service": "told"}, action="confidence", value=0.8)

    changes = client.get("/api/v1/changes", params={"after": before}).json()["items"]
    [change] = [each for each in changes if each["entity"] == "memory"]  # pages follow later
    assert (change["op"], change["row"]) == ("batch", {"ids": ids, "op": "updated"})
    assert change["seq"] == done["seq"]


def test_an_invalid_filter_value_is_rejected_with_the_valid_values(
    client: httpx2.Client,
) -> None:
    given = {"filter": {"category": "misc"}, "action": "deactivate"}
    answer = client.post(f"{MEMORIES}/bulk", json=given)

    assert answer.status_code == 422
    assert "is not one of timing, dependency, " in answer.text
    assert "(at category)" in answer.text


def test_an_empty_filter_requires_explicit_confirmation(client: httpx2.Client) -> None:
    new(client, "every", 0.5)
    for empty in ({}, {"state": "all"}, {"q": ""}):
        given = {"filter": empty, "action": "delete"}
        refused = client.post(f"{MEMORIES}/bulk", json=given)
        assert refused.status_code == 422, empty
    assert '\\"all\\": true to confirm' in refused.text
    assert stood(client, "every") == [(0.5, True)]

    act(client, filter={}, all=True, action="confidence", value=0.6)

    assert stood(client, "every") == [(0.6, True)]


def test_an_adjustment_without_effect_changes_no_memory(client: httpx2.Client) -> None:
    ids = [new(client, "same", confidence) for confidence in (0.0, 0.5, 1.0)]

    done = [act(client, ids=ids, action="adjust", value=by) for by in (0, 0.004, 0.1, -0.2)]

    assert [each["ids"] for each in done] == [[], [], ids[:2], ids]


def test_a_bulk_confirmation_of_client_memories_is_undone(client: httpx2.Client) -> None:
    opened = {"id": "bulk-1", "project": "confirmed"}
    assert client.post("/agentops/sessions", json=opened).is_success
    for text in ("The queue is in redis", "The cache is in memory"):
        said = {"type": "decision", "title": text, "content": text}
        named = {"session_id": "bulk-1", "project": "confirmed"}
        assert client.post("/agentops/observations", json=named | said).is_success
    chosen = {"project": "confirmed"}

    done = act(client, filter=chosen, action="confirm")

    found = client.get(MEMORIES, params=chosen).json()["items"]
    assert (done["changed"], {each["trust"] for each in found}) == (2, {"trusted"})
    assert act(client, filter=chosen, action="confirm", preview=True)["changed"] == 0
    client.post(f"/api/v1/acts/{done['act']}/undo", json={}).raise_for_status()
    found = client.get(MEMORIES, params=chosen).json()["items"]
    assert len(found) == 2
    assert "trusted" not in {each["trust"] for each in found}
