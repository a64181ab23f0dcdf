"""Reviews over HTTP: an operator reads them, decides on them and reverts the decisions."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from route_requests import STAMP, Asking

from living import Home

REVIEWS = "/api/v1/reviews"
DECISIONS: list[tuple[dict[str, Any], tuple[Any, ...], tuple[Any, ...]]] = [
    ({"resolution": "keep_old"}, ("Takes 60s to start", 0.7, None), ("Takes 5s", "superseded")),
    ({"resolution": "keep_new"}, ("Takes 60s to start", 0.5, "superseded"), ("Takes 5s", None)),
    (
        {"resolution": "keep_new", "observation": "Takes 6s"},
        ("Takes 60s to start", 0.5, "superseded"),
        ("Takes 6s", None),
    ),
    (
        {"resolution": "both", "old_scope": "cold", "new_scope": "warm"},
        ("Takes 60s to start (cold)", 0.7, None),
        ("Takes 5s (warm)", None),
    ),
    (
        {"resolution": "merge", "observation": "Takes 5s to 60s"},
        ("Takes 5s to 60s", 0.7, None),
        ("Takes 5s", "superseded"),
    ),
    ({"resolution": "dismiss"}, ("Takes 60s to start", 0.5, None), ("Takes 5s", None)),
]


def contradiction(asking: Asking, **more: Any) -> dict[str, Any]:
    """Let a session contradict a memory: the memory loses 0.2, and a review is opened."""
    old, new = asking.memory(**more), asking.memory(observation="Takes 5s", **more)
    session = asking.session()
    address = f"/api/v1/memories/{old}"
    asking.client.patch(address, json={"confidence": 0.5})
    asking.home.write(
        "UPDATE history SET cause = 'contradicted', actor = 'session', session_id = ?, at = ? "
        "WHERE memory_id = ? AND cause = 'edited'",
        *(session, STAMP, old),
    )
    number = asking.review(old_id=old, new_id=new, session_id=session, **more)
    found: dict[str, Any] = asking.client.get(f"{REVIEWS}/{number}").json()
    return found


def listed(client: httpx2.Client, **query: Any) -> list[int]:
    answer = client.get(REVIEWS, params={"limit": 200, **query})
    assert answer.status_code == 200, answer.text
    assert answer.json()["total"] == len(answer.json()["items"])
    return [each["id"] for each in answer.json()["items"]]


@pytest.mark.parametrize(("given", "old", "new"), DECISIONS, ids=lambda each: str(each)[:30])
def test_each_resolution_is_applied_and_reverted(
    asking: Asking, given: dict[str, Any], old: tuple[Any, ...], new: tuple[Any, ...]
) -> None:
    case = contradiction(asking)
    address = f"{REVIEWS}/{case['id']}"

    decided = asking.client.put(f"{address}/resolution", json=given)

    assert decided.status_code == 200, decided.text
    after = decided.json()
    assert after == asking.client.get(address).json()
    assert decided.headers["etag"] == f'"{case["id"]}-2"'
    assert (after["state"], after["resolution"]) == ("resolved", given["resolution"])
    held = after["old"]
    assert (held["observation"], held["confidence"], held["inactive_reason"]) == old
    assert (after["new"]["observation"], after["new"]["inactive_reason"]) == new
    assert {each["review_id"] for each in after["changes"]} <= {case["id"]}
    assert all(each["undoable"] for each in after["changes"])

    back = asking.client.delete(f"{address}/resolution").json()

    versions = ("version", "old", "new")
    same = {key: value for key, value in back.items() if key not in versions}
    assert same == {key: value for key, value in case.items() if key not in versions}
    for side in ("old", "new"):
        assert {**back[side], "version": 0} == {**case[side], "version": 0}


def test_a_review_shows_observers_and_prompts(asking: Asking) -> None:
    case = contradiction(asking)
    told, not_told = asking.running(), asking.running()
    for session, position in ((told, 1), (not_told, None)):
        asking.home.write(
            "INSERT INTO exposures (session_id, memory_id, version, position, why) "
            "VALUES (?, ?, 1, ?, 'fits')",
            *(session, case["old"]["id"], position),
        )

    case = asking.client.get(f"{REVIEWS}/{case['id']}").json()

    said = {"session_id": None, "at": case["old"]["created_at"], "cause": "created"}
    assert case["sources"]["old"] == [said]
    assert case["exposed"] == {"old": [told], "new": []}
    assert case["exposed_counts"] == {"old": 1, "new": 0}
    assert (case["reason"], case["said"], case["changes"]) == (
        "60s is not 5s",
        "Takes 5s to start",
        [],
    )


def test_reviews_are_found_by_state_service_and_kind(asking: Asking) -> None:
    client = asking.client
    one, two, three = (contradiction(asking, service="reviewed")["id"] for _ in range(3))
    possible = asking.review(service="reviewed", kind="possible")
    for number in (one, two):
        client.put(f"{REVIEWS}/{number}/resolution", json={"resolution": "dismiss"})

    mine = {"service": "Reviewed"}
    assert listed(client, **mine) == [three, possible]
    assert listed(client, **mine, state="resolved") == [two, one]
    assert listed(client, **mine, state="all", kind="conflict") == [three, two, one]
    assert listed(client, service="nobody-knows-it") == []
    assert three not in listed(client, service="general", state="all")
    first = client.get(REVIEWS, params={**mine, "limit": 1}).json()
    rest = client.get(REVIEWS, params={**mine, "cursor": first["next"]}).json()
    assert [each["id"] for each in first["items"] + rest["items"]] == [three, possible]
    assert client.get(REVIEWS, params={"state": "gone"}).status_code == 422


def test_a_late_resolution_is_rejected_with_the_earlier_one(asking: Asking) -> None:
    case = contradiction(asking)
    address = f"{REVIEWS}/{case['id']}/resolution"
    read = {"If-Match": f'"{case["id"]}-1"'}
    first = asking.client.put(address, json={"resolution": "keep_old"}, headers=read)

    late = asking.client.put(address, json={"resolution": "keep_new"}, headers=read)
    blind = asking.client.put(address, json={"resolution": "keep_new"})

    assert (first.status_code, late.status_code, blind.status_code) == (200, 412, 409)
    assert late.json()["current"] == first.json()
    assert blind.json()["detail"].endswith("already resolved: keep_old.")


def test_a_later_edit_or_deletion_blocks_a_revert(asking: Asking) -> None:
    case = contradiction(asking)
    address, old = f"{REVIEWS}/{case['id']}", f"/api/v1/memories/{case['old']['id']}"
    merge = {"resolution": "merge", "observation": "Takes a while"}
    asking.client.put(f"{address}/resolution", json=merge)
    asking.client.patch(old, json={"observation": "Takes ages"})

    blocked = asking.client.delete(f"{address}/resolution")
    asking.client.delete(old)
    gone = asking.client.delete(f"{address}/resolution")

    assert (blocked.status_code, gone.status_code) == (409, 409)
    assert "later edited by the operator" in blocked.json()["detail"]
    assert asking.client.get(address).json()["old"] is None


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"resolution": "both"}, ["old_scope"]),
        ({"resolution": "merge"}, ["observation"]),
        ({"resolution": "keep_old", "observation": "x"}, ["observation"]),
        ({"resolution": "gone"}, ["resolution"]),
        ({"resolution": "both", "old_scope": "x" * 501}, ["old_scope"]),
    ],
    ids=str,
)
def test_an_invalid_resolution_leaves_the_review_open(
    asking: Asking, given: dict[str, Any], wrong: list[str]
) -> None:
    number = asking.review()

    answer = asking.client.put(f"{REVIEWS}/{number}/resolution", json=given)

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == wrong
    assert asking.client.get(f"{REVIEWS}/{number}").json()["state"] == "open"


def test_the_reviews_command_lists_open_reviews(asking: Asking) -> None:
    case = contradiction(asking, service="commanded")

    as_json = json.loads(asking.home.ask("reviews", "--json").stdout)
    in_words = asking.home.ask("reviews").stdout

    extra = ("sources", "exposed", "exposed_counts", "changes")
    assert {key: value for key, value in case.items() if key not in extra} in as_json
    assert f"Review {case['id']} (conflict; commanded, timing; 2026-01-01T12:00Z): 60s" in in_words
    assert f"    old  memory {case['old']['id']}, 0.50: Takes 60s to start\n" in in_words
    assert f"    new  memory {case['new']['id']}, 0.70: Takes 5s\n" in in_words
    assert in_words.endswith("/reviews\n")


def test_the_reviews_command_reports_that_no_reviews_are_open(tmp_path: Path) -> None:
    done = Home(tmp_path / "home").ask("reviews")

    assert (done.returncode, done.stdout, done.stderr) == (0, "No open reviews.\n", "")
