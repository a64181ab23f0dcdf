"""Memories over HTTP: an operator adds, corrects, finds and deletes them."""

from typing import Any

import httpx2
import pytest
from route_requests import STAMP, Asking

from living import Server

MEMORIES = "/api/v1/memories"
CASES = [
    ({"confidence": 1.5}, {"confidence": 1.0, "active": True}),
    ({"confidence": -1}, {"confidence": 0.0, "active": False, "inactive_reason": "low"}),
    ({"confidence": 0.3}, {"confidence": 0.3, "active": True}),
    ({"confidence": 0.299}, {"confidence": 0.3, "active": True}),
    ({"confidence": 0.29}, {"confidence": 0.29, "active": False, "inactive_reason": "low"}),
    ({"service": "general"}, {"service": None}),
    ({"service": " General "}, {"service": None}),
    ({"service": "JELLYFIN"}, {"service": "jellyfin"}),
    ({"service": "wireguard"}, {"service": "WireGuard"}),
    ({"observation": "  two\n### lines \u202e "}, {"observation": "two ### lines"}),
    ({"observation": "x" * 50_000}, {"observation": "x" * 50_000}),
    ({"observation": "a\0b"}, {"observation": "ab"}),
    ({"observation": "key <private>a</private>"}, {"observation": "key [REDACTED]"}),
    (
        {"observation": "use sk-ant-0123456789abcdef", "tags": ["sk-ant-0123456789abcdef", "\0"]},
        {
            "observation": "use [REDACTED:anthropic-key]",
            "tags": ["[REDACTED:anthropic-key]"],
        },
    ),
    ({"category": "decision", "observation": "one\ntwo"}, {"observation": "one\ntwo"}),
    (
        {"metadata": {"port": 8080, "hosts": ["a", "b"], "password": "hunter2hunter2"}},
        {"metadata": {"port": 8080, "hosts": ["a", "b"], "password": "[REDACTED]"}},
    ),
    ({"category": "decision", "expires_at": "2999-01-01T00:00:00Z"}, {"active": True}),
]
REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"category": "misc"}, ["category"]),
    ({"observation": ""}, ["observation"]),
    ({"observation": " \n\u200b\u202e"}, ["observation"]),
    ({"observation": "x" * 50_001}, ["observation"]),
    ({"observation": None}, ["observation"]),
    ({"service": "my.svc"}, ["service"]),
    ({"service": "x" * 65}, ["service"]),
    ({"confidence": "NaN"}, ["confidence"]),
    ({"confidence": "0.5"}, ["confidence"]),
    ({"confidence": True}, ["confidence"]),
    ({"confidence": 10**400}, ["confidence"]),
    ({"tags": ["x"] * 21}, ["tags"]),
    ({"tags": ["x" * 101]}, ["tags"]),
    ({"title": "x" * 501}, ["title"]),
    ({"metadata": []}, ["metadata"]),
    ({"metadata": {"text": "x" * 16_384}}, ["metadata"]),
    ({"metadata": {"": 1}}, ["metadata"]),
    ({"metadata": {"a": {"b": {"c": {"d": {}}}}}}, ["metadata.a.b.c.d"]),
    ({"expires_at": "2999-01-01T00:00:00Z"}, ["expires_at"]),
    ({"category": "decision", "expires_at": "2001-01-01T00:00:00Z"}, ["expires_at"]),
    ({"category": "decision", "expires_at": "tomorrow"}, ["expires_at"]),
    ({"id": 7}, ["id"]),
    ({"category": "misc", "service": 1, "x": 1}, ["category", "service", "x"]),
    ({"observation": "", "service": "my.svc"}, ["observation", "service"]),
]


def new(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    given = {"category": "timing", "observation": "Takes 60s to start", **more}
    answer = client.post(MEMORIES, json=given)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"{MEMORIES}/{answer.json()['id']}"
    found: dict[str, Any] = answer.json()
    return found


def listed(client: httpx2.Client, **query: Any) -> list[int]:
    answer = client.get(MEMORIES, params={"limit": 200, **query})
    assert answer.status_code == 200, answer.text
    assert answer.json()["total"] == len(answer.json()["items"])
    return sorted(each["id"] for each in answer.json()["items"])


def told(client: httpx2.Client) -> str:
    """Return the memory block of a session with an unlimited budget."""
    wanted = {"sections": "operational", "budget": 1_000_000}
    text: str = client.get("/api/v1/context", params=wanted).json()["text"]
    return text


def test_a_created_memory_is_stored_as_sent(client: httpx2.Client) -> None:
    made = new(client, service="postgres", category="maintenance", confidence=0.9, title="VACUUM")

    kept = client.get(f"{MEMORIES}/{made['id']}").json()

    assert kept == made
    assert kept["created_at"] == kept["updated_at"]
    assert {key: kept[key] for key in kept if key not in ("id", "created_at", "updated_at")} == {
        "service": "postgres",
        "category": "maintenance",
        "observation": "Takes 60s to start",
        "confidence": 0.9,
        "active": True,
        "session_id": None,
        "tier": 0,
        "kind": "procedural",
        "trust": "trusted",
        "source": "operator",
        "source_ref": None,
        "title": "VACUUM",
        "tags": [],
        "project": "ops",
        "scope": "project",
        "topic_key": None,
        "inactive_reason": None,
        "pinned": False,
        "metadata": {},
        "expires_at": None,
        "verified_at": None,
        "duplicate_count": 1,
        "revision_count": 1,
        "last_seen_at": None,
        "access_count": 0,
        "accessed_at": None,
        "distilled": True,
        "version": 1,
    }


def test_an_operator_can_create_the_same_memory_twice(client: httpx2.Client) -> None:
    assert new(client)["id"] != new(client)["id"]


@pytest.mark.parametrize(("given", "kept"), CASES, ids=lambda case: str(case)[:50])
def test_fields_of_a_new_memory_are_normalized(
    client: httpx2.Client, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    made = new(client, **given)

    assert {key: made[key] for key in kept} == kept


@pytest.mark.parametrize(("given", "kept"), CASES, ids=lambda case: str(case)[:50])
def test_changed_fields_of_a_memory_are_normalized(
    client: httpx2.Client, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    made = new(client)
    change = {key: value for key, value in given.items() if key != "tags"}

    changed = client.patch(f"{MEMORIES}/{made['id']}", json=change).json()

    wanted = {key: value for key, value in kept.items() if key != "tags"}
    assert {key: changed[key] for key in wanted} == wanted


@pytest.mark.parametrize(("given", "wrong"), REFUSED, ids=lambda case: str(case)[:50])
def test_an_invalid_memory_is_rejected_and_not_stored(
    server: Server, client: httpx2.Client, given: dict[str, Any], wrong: list[str]
) -> None:
    # the notebook of the same server may store what an earlier test wrote, at any time
    stored = "SELECT count(*) FROM memories WHERE source = 'operator'"
    before = server.home.value(stored)

    answer = client.post(MEMORIES, json={"category": "timing", "observation": "x", **given})

    assert answer.status_code == 422, answer.text
    assert sorted(each["field"] for each in answer.json()["errors"]) == wrong
    assert server.home.value(stored) == before


@pytest.mark.parametrize(
    "change",
    [
        {"observation": ""},
        {"observation": "x" * 50_001},
        {"service": "my.svc"},
        {"tier": 1},
        {"active": 1},
    ],
    ids=lambda change: str(change)[:40],
)
def test_an_invalid_change_leaves_the_memory_unchanged(
    client: httpx2.Client, change: dict[str, Any]
) -> None:
    made = new(client)

    answer = client.patch(f"{MEMORIES}/{made['id']}", json={"confidence": 0.1, **change})

    assert answer.status_code == 422
    assert client.get(f"{MEMORIES}/{made['id']}").json() == made


def test_a_changed_text_updates_the_time_and_not_the_confidence(
    client: httpx2.Client,
) -> None:
    made = new(client, confidence=0.4)

    changed = client.patch(f"{MEMORIES}/{made['id']}", json={"observation": "Takes 90s"}).json()

    assert changed == {
        **made,
        "observation": "Takes 90s",
        "version": 2,
        "updated_at": changed["updated_at"],
    }
    assert changed["updated_at"] > made["updated_at"]


def test_an_empty_patch_changes_nothing(client: httpx2.Client) -> None:
    made = new(client)

    assert client.patch(f"{MEMORIES}/{made['id']}", json={}).json() == made


def test_pinning_does_not_update_the_time(client: httpx2.Client) -> None:
    made = new(client)

    changed = client.patch(f"{MEMORIES}/{made['id']}", json={"pinned": True}).json()

    assert changed == {**made, "pinned": True, "version": 2}


def test_a_stale_version_is_rejected_with_the_current_row(client: httpx2.Client) -> None:
    made = new(client)
    address = f"{MEMORIES}/{made['id']}"
    tag = client.get(address).headers["etag"]

    first = client.patch(address, json={"confidence": 0.8}, headers={"If-Match": tag})
    second = client.patch(address, json={"confidence": 0.1}, headers={"If-Match": tag})
    gone = client.delete(address, headers={"If-Match": tag})

    assert (first.status_code, second.status_code, gone.status_code) == (200, 412, 412)
    assert first.headers["etag"] != tag
    assert second.json()["current"] == gone.json()["current"] == first.json()
    assert client.get(address).json() == first.json()


@pytest.mark.parametrize("headers", [{}, {"If-Match": "*"}])
def test_without_a_version_the_last_write_wins(
    client: httpx2.Client, headers: dict[str, str]
) -> None:
    made = new(client)
    address = f"{MEMORIES}/{made['id']}"
    client.patch(address, json={"confidence": 0.8})

    changed = client.patch(address, json={"confidence": 0.5}, headers=headers)

    assert (changed.status_code, changed.json()["confidence"]) == (200, 0.5)


def test_raising_the_confidence_reactivates_a_memory_editing_text_does_not(
    client: httpx2.Client,
) -> None:
    made = new(client, confidence=0.1, observation="Comes back")
    address = f"{MEMORIES}/{made['id']}"

    by_text = client.patch(address, json={"observation": "Comes back later"}).json()
    assert (by_text["active"], "Comes back" in told(client)) == (False, False)

    by_confidence = client.patch(address, json={"confidence": 0.5}).json()
    assert (by_confidence["active"], by_confidence["inactive_reason"]) == (True, None)
    assert "Comes back later (confidence: 0.5)" in told(client)


def test_an_inactive_memory_is_not_included_and_can_be_activated(
    client: httpx2.Client,
) -> None:
    made = new(client, observation="Put aside")
    address = f"{MEMORIES}/{made['id']}"

    aside = client.patch(address, json={"active": False}).json()
    assert (aside["active"], aside["inactive_reason"], aside["confidence"]) == (
        False,
        "operator",
        0.7,
    )
    assert "Put aside" not in told(client)

    assert client.patch(address, json={"active": True}).json()["inactive_reason"] is None
    assert "Put aside" in told(client)


def test_permanent_deletion_removes_every_copy_of_the_text(asking: Asking) -> None:
    client, secret = asking.client, "Quite unforgettable words"
    made = new(client, observation=secret)
    address = f"{MEMORIES}/{made['id']}"
    client.patch(address, json={"observation": f"{secret}, twice"})

    assert client.delete(address).status_code == 204

    assert client.get(address).status_code == client.delete(address).status_code == 404
    assert client.get(f"{address}/history").json()["items"][0]["cause"] == "deleted"
    assert secret not in str(asking.home.rows("SELECT * FROM memories"))

    assert client.delete(f"/api/v1/trash/{made['id']}").status_code == 204

    for table in ("memories", "history", "changes", "trash"):
        assert secret not in str(asking.home.rows(f"SELECT * FROM {table}"))
    causes = "SELECT actor, cause FROM history WHERE memory_id = ? ORDER BY id"
    assert asking.home.rows(causes, made["id"])[:3] == [
        ("operator", "created"),
        ("operator", "edited"),
        ("operator", "deleted"),
    ]


def test_the_id_of_a_deleted_memory_is_never_reused(client: httpx2.Client) -> None:
    gone = new(client)["id"]
    client.delete(f"{MEMORIES}/{gone}")

    assert new(client)["id"] > gone


def test_the_history_names_the_actor_of_each_change(client: httpx2.Client) -> None:
    made = new(client, service="history")
    client.patch(f"{MEMORIES}/{made['id']}", json={"confidence": 0.2})

    past = client.get(f"{MEMORIES}/{made['id']}/history").json()["items"]

    state = {
        "observation": "Takes 60s to start",
        "confidence": 0.7,
        "active": True,
        "category": "timing",
        "service": "history",
        "inactive_reason": None,
        "pinned": False,
        "trust": "trusted",
        "decayed_weeks": 0,
        "title": "",
        "tags": [],
        "project": "ops",
        "scope": "project",
        "topic_key": None,
        "metadata": {},
        "expires_at": None,
        "verified_at": None,
        "kind": "semantic",
        "distilled": True,
        "revision_count": 1,
        "updated_at": made["updated_at"],
    }
    low = {"confidence": 0.2, "active": False, "inactive_reason": "low"}
    after = {**state, **low, "updated_at": past[0]["at"]}
    same = {"actor": "operator", "session_id": None, "reason": "", "review_id": None}
    unlike = ("id", "at", "act")
    assert [{key: each[key] for key in each if key not in unlike} for each in past] == [
        {
            **same,
            "version": 2,
            "cause": "edited",
            "before": state,
            "after": after,
            "undoable": True,
        },
        {
            **same,
            "version": 1,
            "cause": "created",
            "before": None,
            "after": state,
            "undoable": False,  # it is inactive already
        },
    ]


def test_a_change_and_its_undo_can_be_undone(client: httpx2.Client) -> None:
    made = new(client, service="undo")
    address = f"{MEMORIES}/{made['id']}"
    client.patch(address, json={"confidence": 0.2, "observation": "Never starts"})
    (edited, created) = client.get(f"{address}/history").json()["items"]

    back = client.post(f"{address}/history/{edited['id']}/undo")

    assert back.json() == {**made, "version": 3}
    assert back.headers["etag"] == client.get(address).headers["etag"]
    past = client.get(f"{address}/history").json()["items"]
    assert [(each["cause"], each["reason"], each["undoable"]) for each in past] == [
        ("undone", "undoes edited of version 2", True),
        ("edited", "", False),
        ("created", "", True),
    ]
    twice = client.post(f"{address}/history/{edited['id']}/undo")
    assert (twice.status_code, "already undone" in twice.json()["detail"]) == (409, True)
    again = client.post(f"{address}/history/{past[0]['id']}/undo").json()
    assert (again["observation"], again["active"]) == ("Never starts", False)
    other = client.post(f"{MEMORIES}/{new(client)['id']}/history/{created['id']}/undo")
    assert other.status_code == 404


def test_an_undo_that_is_impossible_returns_the_reason(client: httpx2.Client) -> None:
    made = new(client)
    address = f"{MEMORIES}/{made['id']}"
    client.patch(address, json={"observation": "Takes 90s"})
    client.patch(address, json={"observation": "Takes 95s"})
    (_, edited, _) = client.get(f"{address}/history").json()["items"]

    blocked = client.post(f"{address}/history/{edited['id']}/undo")
    client.delete(address)
    gone = client.post(f"{address}/history/{edited['id']}/undo")

    told = "The text was changed again after this step: edited, version 3."
    assert (blocked.status_code, blocked.json()["detail"]) == (409, told)
    assert (gone.status_code, "from the trash" in gone.json()["detail"]) == (409, True)
    assert not any(each["undoable"] for each in client.get(f"{address}/history").json()["items"])


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"action": "delete"}, []),
        ({"action": "confidence", "value": 0.2}, [(0.2, False, "low")] * 5),
        ({"action": "confidence", "value": 7}, [(1.0, True, None)] * 5),
        ({"action": "deactivate"}, [(0.7, False, "operator")] * 5),
        ({"action": "adjust", "value": -0.45}, [(0.25, False, "low")] * 5),
    ],
    ids=str,
)
def test_a_bulk_act_changes_all_named_memories(
    client: httpx2.Client, given: dict[str, Any], left: list[tuple[Any, ...]]
) -> None:
    service = f"bulk-{given['action']}-{given.get('value')}".replace(".", "-")
    ids = [new(client, service=service)["id"] for _ in range(5)]
    gone = new(client)["id"]
    client.delete(f"{MEMORIES}/{gone}")

    changed = client.post(f"{MEMORIES}/bulk", json={"ids": [*ids, *ids, gone], **given}).json()

    assert (changed["changed"], changed["ids"]) == (5, ids)
    rows = client.get(MEMORIES, params={"service": service}).json()["items"]
    assert [(each["confidence"], each["active"], each["inactive_reason"]) for each in rows] == left


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"ids": [], "action": "delete"}, ["ids"]),
        ({"ids": [0], "action": "delete"}, ["ids"]),
        ({"ids": [2**63], "action": "delete"}, ["ids"]),
        ({"ids": [10**400], "action": "delete"}, ["ids"]),
        ({"ids": [1.5], "action": "delete"}, ["ids"]),
        ({"ids": list(range(1, 1002)), "action": "delete"}, ["ids"]),
        ({"ids": [1], "action": "confidence"}, ["value"]),
        ({"ids": [1], "action": "explode", "value": "x"}, ["action", "value"]),
        ({"ids": [1], "filter": {}, "action": "delete"}, ["ids"]),
        ({"action": "delete"}, ["ids"]),
        ({"ids": [1], "action": "adjust"}, ["value"]),
        ({"filter": {"nosuch": 1}, "action": "delete"}, ["filter"]),
        ({"filter": {"state": "on"}, "action": "delete"}, ["filter"]),
    ],
    ids=lambda case: str(case)[:40],
)
def test_an_invalid_bulk_act_is_rejected(
    client: httpx2.Client, given: dict[str, Any], wrong: list[str]
) -> None:
    answer = client.post(f"{MEMORIES}/bulk", json=given)

    assert answer.status_code == 422, answer.text
    assert sorted(each["field"] for each in answer.json()["errors"]) == wrong


def test_each_filter_returns_exactly_the_matching_memories(client: httpx2.Client) -> None:
    one = new(client, service="Filter-A", observation="50% of IT_all")["id"]
    two = new(client, service="filter-b", category="behavior", observation="500 of Itxall")["id"]
    low = new(client, service="filter-a", confidence=0.1, observation="Filtered away")["id"]
    general = new(client, category="decision", observation="Filter for all")["id"]

    assert listed(client, service="filter-a") == [one, low]
    assert listed(client, service="FILTER-A", state="active") == [one]
    assert listed(client, service="filter-a", state="inactive") == [low]
    assert listed(client, service="filter-b", category="behavior") == [two]
    assert listed(client, service="filter-b", category="timing") == []
    assert listed(client, q="50% of it_") == [one]
    assert listed(client, q="of it", service="filter-b") == [two]
    assert listed(client, q="filter for all", service="general") == [general]
    assert listed(client, q="filter for all", kind="semantic", project="ops") == [general]
    assert listed(client, q="filter for all", scope="global") == []
    assert listed(client, q="filter", section="knowledge") == [general]
    assert listed(client, q="filter", section="operational") == [low]
    counted = client.get(f"{MEMORIES}/facets", params={"q": "filter", "section": "knowledge"})
    assert counted.json()["categories"] == [{"category": "decision", "count": 1}]


def test_an_unknown_service_matches_nothing_and_an_invalid_filter_is_rejected(
    client: httpx2.Client,
) -> None:
    new(client)

    assert listed(client, service="nobody-knows-it") == []
    assert client.get(MEMORIES, params={"category": "misc"}).status_code == 422
    assert client.get(MEMORIES, params={"q": "\0"}).status_code == 422


def test_facets_match_the_listed_memories(client: httpx2.Client) -> None:
    for category, confidence in (("timing", 0.7), ("timing", 0.1), ("behavior", 0.9)):
        new(client, service="facets", category=category, confidence=confidence)

    found = client.get(f"{MEMORIES}/facets", params={"service": "facets"}).json()

    assert {"service": "facets", "count": 3} in found["services"]
    assert found["categories"] == [
        {"category": "behavior", "count": 1},
        {"category": "timing", "count": 2},
    ]
    assert found["projects"] == [{"project": "ops", "count": 3}]
    assert found["states"] == {"active": 2, "inactive": 1, "review": 0}


def test_a_row_with_only_the_columns_of_the_specification_is_valid(asking: Asking) -> None:
    asking.home.write(
        "INSERT INTO memories (service, category, observation, confidence, active, created_at, "
        "updated_at, session_id, tier) "
        "VALUES ('byhand', 'timing', 'By hand', 0.8, 1, ?, ?, NULL, 1)",
        STAMP,
        STAMP,
    )

    (row,) = asking.client.get(MEMORIES, params={"service": "byhand"}).json()["items"]

    assert (row["observation"], row["confidence"], row["created_at"]) == ("By hand", 0.8, STAMP)
    assert "- [timing] By hand (confidence: 0.8)" in told(asking.client)
    changed = asking.client.patch(f"{MEMORIES}/{row['id']}", json={"confidence": 0.9})
    assert changed.json()["confidence"] == 0.9


def test_schema_and_rule_errors_are_reported_together(client: httpx2.Client) -> None:
    given = {"category": "misc", "observation": " ", "service": "a b", "confidence": "high"}

    answer = client.post(MEMORIES, json=given)

    wrong = {each["field"]: each["message"] for each in answer.json()["errors"]}
    assert set(wrong) == {"category", "observation", "service", "confidence"}
    assert wrong["category"].startswith("is not one of timing, dependency, behavior,")
    assert wrong["confidence"] == "is text, not a number"


def test_activation_with_low_confidence_is_rejected(client: httpx2.Client) -> None:
    memory = client.post(
        MEMORIES, json={"category": "timing", "observation": "Faint", "confidence": 0.2}
    ).json()

    answer = client.patch(f"{MEMORIES}/{memory['id']}", json={"active": True})

    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {
            "field": "active",
            "message": ("cannot be true with a confidence below 0.30; raise the confidence"),
        }
    ]


def test_invalid_events_and_sessions_report_every_invalid_field(client: httpx2.Client) -> None:
    event = client.post("/api/v1/events", json={"level": "x", "text": "", "service": "!!"})
    asked = client.post("/api/v1/sessions", json={"tier": 7, "services": ["nosuch"], "prompt": 5})

    assert [each["field"] for each in event.json()["errors"]] == ["level", "text", "service"]
    assert [each["field"] for each in asked.json()["errors"]] == ["tier", "prompt", "services"]


def test_all_fields_of_a_knowledge_memory_are_stored_and_returned(client: httpx2.Client) -> None:
    given = {
        "category": "decision",
        "observation": "Reads go on beside writes.",
        "title": "Use WAL mode",
        "tags": ["sqlite"],
        "scope": "global",
        "topic_key": "Travels/DB journal",
    }

    made = client.post(MEMORIES, json=given).json()
    kept = client.patch(f"{MEMORIES}/{made['id']}", json={"title": "WAL", "topic_key": None}).json()

    assert {name: made[name] for name in given} == {**given, "topic_key": "travels/db-journal"}
    assert (kept["title"], kept["topic_key"], kept["tags"]) == ("WAL", None, ["sqlite"])
    [edit, _] = client.get(f"{MEMORIES}/{made['id']}/history").json()["items"]
    assert edit["before"]["tags"] == ["sqlite"]
    assert (edit["before"]["topic_key"], edit["after"]["topic_key"]) == ("travels/db-journal", None)
    found = client.get(MEMORIES, params={"scope": "global", "q": "beside writes"}).json()
    assert [each["id"] for each in found["items"]] == [made["id"]]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"scope": "galaxy"}, "scope"),
        ({"tags": "sqlite"}, "tags"),
        ({"tags": ["x" * 101]}, "tags"),
        ({"title": 7}, "title"),
        ({"topic_key": "x" * 121}, "topic_key"),
    ],
    ids=str,
)
def test_an_invalid_knowledge_field_is_rejected(
    client: httpx2.Client, given: dict[str, Any], field: str
) -> None:
    whole = {"category": "decision", "observation": "Wrong", **given}
    made = client.post(MEMORIES, json={"category": "decision", "observation": "Right"}).json()

    for answer in (
        client.post(MEMORIES, json=whole),
        client.patch(f"{MEMORIES}/{made['id']}", json=given),
    ):
        assert answer.status_code == 422
        assert [each["field"] for each in answer.json()["errors"]] == [field]


def test_evidence_returns_the_sources_of_a_memory(client: httpx2.Client) -> None:
    made = new(client, service="grounds")

    found = client.get(f"{MEMORIES}/{made['id']}/evidence").json()

    assert found["said"]["items"] == [
        {
            "session_id": None,
            "tier": 0,
            "at": made["created_at"],
            "cause": "created",
            "before": None,
            "after": 0.7,
        }
    ]
    assert found["told"] == {"total": 0, "items": []}
    assert client.get(f"{MEMORIES}/999999/evidence").status_code == 404
    assert client.get(f"{MEMORIES}/{made['id']}/evidence?limit=0").status_code == 422


def test_prompt_explains_why_a_memory_is_included_or_not(client: httpx2.Client) -> None:
    made = new(client, observation="Asks why it is in the prompt", confidence=1.0)
    fact = new(client, category="decision", observation="Asks why it is not", project="shop")

    included = client.get(f"{MEMORIES}/{made['id']}/prompt").json()
    off = client.get(f"{MEMORIES}/{made['id']}/prompt?budget=0").json()
    left = client.get(f"{MEMORIES}/{made['id']}/prompt?without={made['id']}").json()
    knowledge = client.get(f"{MEMORIES}/{fact['id']}/prompt").json()

    prompt = client.get("/api/v1/context").json()
    assert included["included"] is True
    assert prompt["included"][included["position"]]["line"] == included["line"]
    assert (included["total"], included["lines"]) == (prompt["total"], len(prompt["included"]))
    assert (off["included"], off["reason"], left["reason"]) == (False, "off", "without")
    assert off["ways"][-1]["budget"] > 0
    assert knowledge["reason"] == "knowledge"
    assert knowledge["ways"][0]["categories"][0] == "timing"
    assert knowledge["ways"][0]["project"] == "ops"
    assert client.get(f"{MEMORIES}/999999/prompt").status_code == 404
    assert client.get(f"{MEMORIES}/{made['id']}/prompt?budget=-1").status_code == 422
    before = client.get(f"{MEMORIES}/{made['id']}/prompt?as_of=2020-01-01T00:00:00Z")
    assert before.status_code == 404


def test_a_list_is_sorted_in_either_order_and_grouped(client: httpx2.Client) -> None:
    for service, confidence in (("way-b", 0.9), ("way-a", 0.5), ("way-b", 0.4), ("way-a", 0.8)):
        given = {"category": "config", "observation": "Either way", "confidence": confidence}
        assert client.post(MEMORIES, json={**given, "service": service}).status_code == 201

    def listed(**asked: str) -> list[tuple[str, float]]:
        asked = {"category": "config", "q": "either way", **asked}
        rows = client.get(MEMORIES, params=asked).json()["items"]
        return [(row["service"][-1], row["confidence"]) for row in rows]

    assert listed(order="asc") == [("b", 0.4), ("a", 0.5), ("a", 0.8), ("b", 0.9)]
    assert listed(sort="service", order="desc") == [
        *[("b", 0.9), ("b", 0.4)],
        *[("a", 0.8), ("a", 0.5)],
    ]
    assert listed(group="service", order="asc") == [
        *[("a", 0.5), ("a", 0.8)],
        *[("b", 0.4), ("b", 0.9)],
    ]


def test_views_are_counted_and_listed(client: httpx2.Client) -> None:
    given = {"category": "config", "observation": "Seen", "service": "viewed"}
    number = client.post(MEMORIES, json=given).json()["id"]
    client.post(MEMORIES, json={**given, "observation": "Not touched"})
    client.patch(f"{MEMORIES}/{number}", json={"observation": "Seen by hand"})

    counts = client.get(f"{MEMORIES}/views", params={"service": "viewed"}).json()["views"]
    rows = client.get(MEMORIES, params={"service": "viewed", "view": "edited"}).json()["items"]

    assert counts == {"fading": 0, "unused": 2, "single": 2, "edited": 1}
    assert [row["id"] for row in rows] == [number]


@pytest.mark.parametrize("asked", ["view=fading", "state=review"])
def test_views_and_reviews_reject_as_of(client: httpx2.Client, asked: str) -> None:
    answer = client.get(f"{MEMORIES}?{asked}&as_of=2026-01-01T00:00:00Z")

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == asked.partition("=")[0]


def test_a_project_name_is_lowercased(client: httpx2.Client) -> None:
    kept = new(client, service=None, category="config", project=" MyShop ", topic_key="db/pool")

    assert kept["project"] == "myshop"
    for asked in ("myshop", "MyShop"):
        assert listed(client, project=asked) == [kept["id"]]
    elsewhere = new(client, service=None, category="config", topic_key="db/pool")
    assert (elsewhere["project"], elsewhere["topic_key"]) == ("ops", "db/pool")


def test_a_topic_key_in_use_in_the_project_is_rejected(client: httpx2.Client) -> None:
    kept = new(client, service=None, category="config", project="desk", topic_key="db/size")

    answer = client.post(
        MEMORIES,
        json={
            "category": "config",
            "observation": "Another",
            "project": "DESK",
            "topic_key": "db/size",
        },
    )

    assert answer.status_code == 422
    [wrong] = answer.json()["errors"]
    assert f"memory {kept['id']}; edit that memory instead" in wrong["message"]


def test_an_operational_memory_rejects_a_project(client: httpx2.Client) -> None:
    answer = client.post(
        MEMORIES, json={"category": "timing", "observation": "x", "project": "shop"}
    )

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["project"]


def test_a_confirmation_of_a_typed_memory_is_undone(client: httpx2.Client) -> None:
    event = {"session_id": "typed-1", "cwd": "/home/ann/typed", "prompt": "No, use pnpm here."}
    told = client.post("/api/v1/hooks/UserPromptSubmit", json=event)
    assert told.status_code == 200
    [typed] = client.get(MEMORIES, params={"project": "typed"}).json()["items"]
    assert (typed["source"], typed["trust"], typed["confidence"]) == ("owner", "unverified", 0.6)
    address = f"{MEMORIES}/{typed['id']}"

    stale = client.post(f"{address}/confirm", headers={"If-Match": f'"{typed["id"]}-9"'})
    done = client.post(f"{address}/confirm", headers={"If-Match": f'"{typed["id"]}-1"'})

    assert (stale.status_code, done.status_code) == (412, 200)
    assert (done.json()["trust"], done.json()["confidence"]) == ("trusted", 0.7)
    undone = client.post(f"/api/v1/acts/{done.headers['lamplighter-act']}/undo", json={})
    assert undone.json()["undoes"]["action"] == "confirm"
    back = client.get(address).json()
    assert {name: back[name] for name in ("trust", "confidence", "kind", "distilled")} == {
        name: typed[name] for name in ("trust", "confidence", "kind", "distilled")
    }
    assert client.post(f"{MEMORIES}/987654/confirm").status_code == 404


def test_half_a_character_is_reported_with_its_field(client: httpx2.Client) -> None:
    body = b'{"category": "timing", "observation": "Takes \\ud83d", "tags": ["\\udc00 a"]}'

    refused = client.post(MEMORIES, content=body, headers={"Content-Type": "application/json"})

    half = "contains half of a surrogate pair, which is not a character"
    assert refused.status_code == 400
    detail = f"The body is not valid JSON: observation: {half}; tags: {half}"
    assert refused.json()["detail"] == detail
