"""The graph over HTTP: stored memories create its relationships, and changes can be undone."""

import time
from typing import Any

import httpx2

SENTENCE = "The checkout service uses Redis because carts are small."


def entity(client: httpx2.Client, name: str, kind: str = "tool", **more: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/entities", json={"name": name, "kind": kind, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def named(client: httpx2.Client, **query: Any) -> list[str]:
    answer = client.get("/api/v1/entities", params=query)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["items"]]


def undo(client: httpx2.Client, answer: httpx2.Response) -> None:
    act = answer.headers["lamplighter-act"]
    undone = client.post(f"/api/v1/acts/{act}/undo", json={})
    assert undone.status_code == 200, undone.text


def test_a_saved_memory_adds_its_relationships_to_the_graph(own_client: httpx2.Client) -> None:
    made = {"category": "discovery", "observation": SENTENCE, "project": "shop"}
    memory = own_client.post("/api/v1/memories", json=made).json()
    end = time.monotonic() + 20
    while "Redis" not in named(own_client) and time.monotonic() < end:
        time.sleep(0.1)

    graph = own_client.get("/api/v1/graph", params={"center": "redis", "depth": 2}).json()
    [edge] = graph["edges"]
    case = own_client.get(f"/api/v1/entities/{graph['center']}").json()

    names = {each["id"]: each["name"] for each in graph["nodes"]}
    ends = names[edge["source_id"]], edge["kind"], names[edge["target_id"]]
    assert ends == ("checkout", "uses", "Redis")
    [neighbor] = case["neighbors"]
    assert neighbor["entity"]["name"] == "checkout"
    assert [each["id"] for each in neighbor["evidence"]] == [memory["id"]]


def test_an_agentops_observation_adds_its_decision_to_the_graph(own_client: httpx2.Client) -> None:
    opened = {"id": "s1", "project": "shop"}
    assert own_client.post("/agentops/sessions", json=opened).status_code == 201
    saved = {"session_id": "s1", "project": "shop", "type": "decision", "title": "Queue"}
    saved["content"] = "Ann decided to use NATS because it is small."
    assert own_client.post("/agentops/observations", json=saved).status_code == 201
    end = time.monotonic() + 20
    decisions: list[dict[str, Any]] = []
    while not decisions and time.monotonic() < end:
        answer = own_client.get("/api/v1/why", params={"q": "why NATS?", "project": "shop"})
        decisions = answer.json()["decisions"]
        time.sleep(0.1)

    [case] = decisions
    assert (case["decision"]["name"], case["rationale"]) == ("Queue", "it is small")
    assert [each["name"] for each in case["decided_by"]] == ["Ann"]
    assert [each["name"] for each in case["concerns"]] == ["NATS"]


def test_entities_are_filtered_by_name_alias_and_kind(own_client: httpx2.Client) -> None:
    entity(own_client, "Claude Code", aliases=["CC"])
    entity(own_client, "Ann", "person")

    assert named(own_client) == ["Ann", "Claude Code"]
    assert named(own_client, q="cc") == ["Claude Code"]
    assert named(own_client, q="claude-co") == ["Claude Code"]
    assert named(own_client, kind="person") == ["Ann"]
    assert named(own_client, q="Zed") == []
    twice = own_client.post("/api/v1/entities", json={"name": "claude_code", "kind": "tool"})
    assert twice.status_code == 409


def test_changes_of_entities_are_in_the_journal_and_undone(own_client: httpx2.Client) -> None:
    one, two = entity(own_client, "Postgres"), entity(own_client, "PostgreSQL")
    path = f"/api/v1/entities/{one['id']}"

    merged = own_client.post(f"{path}/merge", json={"into": two["id"]})
    assert named(own_client) == ["PostgreSQL"]
    undo(own_client, merged)
    assert named(own_client) == ["PostgreSQL", "Postgres"]

    gone = own_client.delete(path)
    assert own_client.get(path).status_code == 404
    undo(own_client, gone)
    assert own_client.get(path).json()["name"] == "Postgres"

    acts = own_client.get("/api/v1/acts").json()["items"]
    assert [each["action"] for each in acts] == [
        *("undo", "delete", "undo", "merge"),
        *("create", "create"),
    ]
    assert acts[3]["subject"] == f"entity {one['id']} into {two['id']}"


def test_the_name_of_a_merged_entity_finds_the_remaining_entity(own_client: httpx2.Client) -> None:
    first, middle, last = (
        entity(own_client, name, "person") for name in ("A. Turing", "Al Turing", "Alan")
    )
    for one, into in ((first, middle), (middle, last)):
        answer = own_client.post(f"/api/v1/entities/{one['id']}/merge", json={"into": into["id"]})
        assert answer.status_code == 200, answer.text

    assert named(own_client, q="turing") == ["Alan"]
    assert named(own_client, q="a. turing") == ["Alan"]
    undo(own_client, answer)
    assert named(own_client, q="turing") == ["Al Turing"]
