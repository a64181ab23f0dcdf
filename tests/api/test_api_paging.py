"""Paged lists: each row appears exactly once, also if rows are added meanwhile."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from route_requests import STAMP, Asking, names_in

from cells import walk
from lamplighter.api.routes import OPS
from living import Server

MEMORIES = "/api/v1/memories"
LISTS = ("/api/v1/memories", "/api/v1/events", "/api/v1/sessions", "/api/v1/requests")
AT_HAND = ("/api/v1/services", "/api/v1/cooldowns")
COUNT = 250


def which(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(each) for each in ("id", "name", "service", "action"))


def pages(client: httpx2.Client, address: str, **query: Any) -> Iterator[list[dict[str, Any]]]:
    """Follow a list to its end, by `next` and by Link in turn."""
    answer = client.get(address, params=query)
    while True:
        assert answer.status_code == 200, answer.text
        body = answer.json()
        yield body["items"]
        if body["next"] is None:
            assert "link" not in answer.headers
            return
        link = answer.headers["link"].removeprefix("<").removesuffix('>; rel="next"')
        other = client.get(address, params={**query, "cursor": body["next"]})
        answer = client.get(link)
        assert list(map(which, other.json()["items"])) == list(map(which, answer.json()["items"]))


@pytest.fixture(scope="module")
def filled(asking: Asking) -> list[int]:
    """Create similar memories: many share their confidence, service and time."""
    for number in range(COUNT):
        asking.home.write(
            "INSERT INTO memories (service, category, observation, confidence, active, created_at,"
            " updated_at, tier) VALUES (?, 'pattern', 'paged', ?, 1, ?, ?, 1)",
            ("p-a", "p-b", None)[number % 3],
            (0.3, 0.7, 0.85, 1.0)[number % 4],
            STAMP,
            f"2026-01-0{1 + number % 3}T12:00:00.00000{number % 2}Z",
        )
    return [id for (id,) in asking.home.rows("SELECT id FROM memories WHERE category = 'pattern'")]


@pytest.mark.parametrize(
    "sort", ["confidence", "updated", "created", "service", "category", "state", "source"]
)
def test_each_memory_is_listed_once_while_others_are_added(
    asking: Asking, filled: list[int], sort: str
) -> None:
    seen: list[int] = []
    for page in pages(asking.client, MEMORIES, category="pattern", sort=sort, limit=7):
        seen += [row["id"] for row in page]
        asking.memory(category="pattern", observation="later", confidence=0.7, service="p-b")

    assert sorted(id for id in seen if id in filled) == filled
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("confidence", lambda row: (-row["confidence"], _down(row["updated_at"]), row["id"])),
        ("updated", lambda row: (_down(row["updated_at"]), -row["id"])),
        ("created", lambda row: -row["id"]),
        (
            "service",
            lambda row: (row["service"] is None, row["service"], -row["confidence"], row["id"]),
        ),
    ],
)
def test_all_pages_together_are_in_sort_order(
    asking: Asking, filled: list[int], sort: str, key: Any
) -> None:
    seen = [row for page in pages(asking.client, MEMORIES, sort=sort, limit=200) for row in page]

    assert seen == sorted(seen, key=key)
    assert {row["id"] for row in seen} >= set(filled)


def _down(stamp: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in stamp)


def test_a_deletion_between_pages_skips_no_other_memory(asking: Asking) -> None:
    ids = [asking.memory(service="vanishing") for _ in range(9)]
    seen: list[int] = []

    for page in pages(asking.client, MEMORIES, service="vanishing", sort="created", limit=3):
        seen += [row["id"] for row in page]
        asking.client.delete(f"{MEMORIES}/{page[-1]['id']}")

    assert seen == ids[::-1]


def test_events_sessions_requests_and_histories_are_paged_the_same_way(asking: Asking) -> None:
    for number in range(11):
        asking.made("/api/v1/events", {"level": "info", "text": f"Event {number}"})
        asking.request()
        asking.running()
    memory = asking.memory()
    for number in range(10):
        asking.client.patch(f"{MEMORIES}/{memory}", json={"observation": f"Text {number}"})

    for address in LISTS[1:]:
        ids = [row["id"] for page in pages(asking.client, address, limit=3) for row in page]
        assert ids == sorted(set(ids), reverse=True)
        assert len(ids) >= 11
    past = _history(asking.client, memory)
    assert past == list(range(11, 0, -1))


def _history(client: httpx2.Client, memory: int) -> list[int]:
    versions: list[int] = []
    query: dict[str, Any] = {"limit": 3}
    while True:
        body = client.get(f"{MEMORIES}/{memory}/history", params=query).json()
        versions += [each["version"] for each in body["items"]]
        if body["next"] is None:
            return versions
        query["cursor"] = body["next"]


def test_lists_from_files_are_paged(own_server: Server, own_client: httpx2.Client) -> None:
    names = [f"s{number}" for number in range(7)]
    told = "".join(
        f"  {name}:\n    checks: [{{tcp: 127.0.0.1:9}}]\n    actions: [{{restart: [/bin/true]}}]\n"
        for name in names
    )
    own_server.home.services.write_text(f"services:\n{told}")
    said = [f"[EVENT:info] {number}" for number in range(7)]
    session = own_server.home.says("\n".join(said)).id

    def all_of(address: str, field: str) -> list[str]:
        return [each[field] for page in pages(own_client, address, limit=3) for each in page]

    assert all_of("/api/v1/services", "name") == names
    assert all_of("/api/v1/cooldowns", "service") == names
    assert all_of(f"/api/v1/sessions/{session}/markers", "text") == said


def _cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


AT = {"at": STAMP}
FOREIGN = [
    "",
    "x",
    "é",
    "W10x",
    "=" * 10,
    base64.urlsafe_b64encode(b"{}").decode(),
    base64.urlsafe_b64encode(b"[" * 4_500).decode(),
    _cursor(),
    _cursor(None),
    _cursor("a"),
    _cursor(AT),
    _cursor(True),
    _cursor([1]),
    _cursor(10**30),
    _cursor(1, 2, 3),
    _cursor(0.5, "a", 1),
    _cursor("a", AT, 1),
    _cursor(0.5, AT, "a"),
    _cursor(0.5, AT, 0.5),
    _cursor(float("nan"), AT, 1),
    _cursor(float("inf"), AT, 1),
    _cursor(0.5, {"at": 1}, 1),
    _cursor(0.5, {"at": "soon"}, 1),
    _cursor(0.5, {"at": "0001-01-01T00:00:00+23:59"}, 1),
    _cursor(0.5, {"x": STAMP}, 1),
    _cursor("\ud800", 0.5, 1),
]


@walk("address", [*LISTS, *AT_HAND, f"{MEMORIES}?sort=service"])
@walk("cursor", FOREIGN, ids=lambda cursor: cursor[:24])
def test_a_cursor_of_another_list_is_rejected(asking: Asking, address: str, cursor: str) -> None:
    answer = asking.client.get(address, params={"cursor": cursor})

    assert answer.status_code == 422, answer.text
    assert [each["field"] for each in answer.json()["errors"]] == ["cursor"]


def test_every_list_rejects_the_cursor_of_another_list(asking: Asking) -> None:
    for op in OPS:
        if "cursor" not in names_in(op.query) or "{" in op.path:
            continue
        address = asking.named(op)
        for parts in (("x",), (AT, "x"), (1, 2, 3, 4)):
            behind = f"{'&' if '?' in address else '?'}cursor={_cursor(*parts)}"
            answer = asking.ask(op, address=address + behind)

            assert answer.status_code == 422, (address, answer.text)
            assert [each["field"] for each in answer.json()["errors"]] == ["cursor"]


@walk("limit", ["0", "-1", "201", "1.5", "many", ""])
@walk("address", [*LISTS, *AT_HAND])
def test_a_page_has_between_1_and_200_rows(asking: Asking, address: str, limit: str) -> None:
    answer = asking.client.get(address, params={"limit": limit})

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["limit"]
