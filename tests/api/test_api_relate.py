"""The relation of two observations over HTTP."""

from typing import Any

import httpx2
import pytest

from living import Server

RELATE = "/api/v1/memories/relate"
PAIR = {
    "id": "d0001",
    "category": "timing",
    "service": "jellyfin",
    "old": "Takes 60s to start",
    "new": "Takes 10 minutes to start",
}


@pytest.mark.parametrize(
    ("new", "label"),
    [
        ("Takes a minute (60 seconds) to start", "reinforce"),
        ("Takes 10 minutes to start", "contradict"),
        ("Listens on port 8096", "new"),
    ],
)
def test_the_relation_of_two_observations_is_returned_with_a_reason(
    client: httpx2.Client, new: str, label: str
) -> None:
    answer = client.post(RELATE, json=PAIR | {"new": new})

    assert answer.status_code == 200
    found = answer.json()
    assert (found["label"], found["sure"], set(found)) == (
        *(label, True),
        {"label", "sure", "p", "reason"},
    )
    assert 0.5 < found["p"] <= 1
    assert found["reason"]


def test_an_uncertain_relation_is_reported_as_new(client: httpx2.Client) -> None:
    pair = {
        "service": "forwarder",
        "old": "The log forwarder needs the green key",
        "new": "The log forwarder needs the blue key",
    }
    answer = client.post(RELATE, json=pair).json()
    assert (answer["label"], answer["sure"]) == ("new", False)
    assert answer["reason"].startswith("may conflict: ")


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"old": ""}, {"old"}),
        ({"new": 7}, {"new"}),
        ({"category": "gossip"}, {"category"}),
        ({"service": ["a"]}, {"service"}),
        ({"label": "new"}, {"label"}),
        ({"id": {}}, {"id"}),
    ],
)
def test_an_invalid_field_is_rejected(
    client: httpx2.Client, given: dict[str, Any], wrong: set[str]
) -> None:
    answer = client.post(RELATE, json=PAIR | given)
    assert answer.status_code == 422
    assert {each["field"] for each in answer.json()["errors"]} == wrong


def test_only_the_two_texts_are_required(client: httpx2.Client) -> None:
    assert client.post(RELATE, json={"old": "Up", "new": "Up"}).json()["label"] == "reinforce"
    answer = client.post(RELATE, json={"id": 1})
    assert {each["field"] for each in answer.json()["errors"]} == {"old", "new"}


def test_a_comparison_stores_nothing(server: Server, client: httpx2.Client) -> None:
    server.home.ask("notebook", "sync")  # what an earlier test wrote is stored before
    before = server.home.value("SELECT max(seq) FROM changes")
    client.post(RELATE, json=PAIR)
    assert server.home.value("SELECT max(seq) FROM changes") == before
