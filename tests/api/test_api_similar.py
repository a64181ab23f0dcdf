"""Similar or conflicting memories of a text, over HTTP."""

from typing import Any

import httpx2
import pytest

from living import Server

SIMILAR = "/api/v1/memories/similar"
TYPED = {"category": "timing", "service": "tuner", "observation": "Takes 60s to start"}


def held(client: httpx2.Client, observation: str, service: str) -> dict[str, Any]:
    body = TYPED | {"observation": observation, "service": service}
    return dict(client.post("/api/v1/memories", json=body).json())


def test_similar_memories_are_returned_with_the_reason(client: httpx2.Client) -> None:
    other = held(client, "Takes 10 minutes to start", "tuner")
    same = held(client, "Takes a minute (60 seconds) to start", "tuner")

    answer = client.post(SIMILAR, json=TYPED)

    assert answer.status_code == 200
    [first, second] = answer.json()["items"]
    assert (first["memory"], first["label"], first["sure"]) == (same, "reinforce", True)
    assert (second["memory"], second["label"], second["sure"]) == (other, "contradict", True)
    assert first["reason"]
    assert second["reason"]


def test_the_edited_memory_is_excluded(client: httpx2.Client) -> None:
    edited = held(client, TYPED["observation"], "dish")
    body = TYPED | {"service": "dish"}
    assert len(client.post(SIMILAR, json=body).json()["items"]) == 1
    assert client.post(SIMILAR, json=body | {"without": edited["id"]}).json() == {"items": []}


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"observation": " "}, {"observation"}),
        ({"observation": 7}, {"observation"}),
        ({"category": "gossip"}, {"category"}),
        ({"service": "no such name"}, {"service"}),
        ({"without": 0}, {"without"}),
        ({"confidence": 0.7}, {"confidence"}),
    ],
)
def test_an_invalid_field_is_rejected(
    client: httpx2.Client, given: dict[str, Any], wrong: set[str]
) -> None:
    answer = client.post(SIMILAR, json=TYPED | given)
    assert answer.status_code == 422
    assert {each["field"] for each in answer.json()["errors"]} == wrong


def test_a_search_for_similar_memories_stores_nothing(
    server: Server, client: httpx2.Client
) -> None:
    held(client, TYPED["observation"], "aerial")
    server.home.ask("notebook", "sync")  # what an earlier test wrote is stored before
    before = server.home.value("SELECT max(seq) FROM changes")
    assert client.post(SIMILAR, json=TYPED | {"service": "aerial"}).json()["items"]
    assert server.home.value("SELECT max(seq) FROM changes") == before
