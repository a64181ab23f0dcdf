"""Approvals over the API: listed, read, and decided by authorized callers."""

import httpx2
import pytest
from route_requests import Asking, name

from lamplighter.api.routes import OPS
from lamplighter.domain.access.access import SCOPES, SESSION_SCOPES, expand_scopes

RESTART = ["docker", "restart", "jellyfin"]
HERE = "/api/v1/approvals"


def put(asking: Asking, number: int, **body: object) -> httpx2.Response:
    return asking.client.put(f"{HERE}/{number}/decision", json=body)


def test_an_approval_includes_command_reason_memories_and_cooldown(asking: Asking) -> None:
    number = asking.approval()

    case = asking.client.get(f"{HERE}/{number}").json()

    assert case["argv"] == RESTART
    assert (case["directory"], case["action"], case["reason"]) == (
        "/srv",
        "restart",
        "It answers 503",
    )
    assert [each["id"] for each in case["told"]] == case["memories"]
    assert case["cooldown"]["limit"] == 2
    assert case["seconds_left"] > 0
    assert (case["decided_by"], case["use"], case["replaced_by"]) == (None, None, None)


def test_an_approval_omits_a_deleted_memory(asking: Asking) -> None:
    number = asking.approval(memories="[999999]")

    case = asking.client.get(f"{HERE}/{number}").json()

    assert (case["memories"], case["told"]) == ([999999], [])


def test_open_approvals_are_listed_oldest_first_in_pages(asking: Asking) -> None:
    session = asking.running()
    numbers = [asking.approval(session_id=session) for _ in range(3)]

    first = asking.client.get(HERE, params={"session": session, "limit": 2}).json()
    rest = asking.client.get(
        HERE, params={"session": session, "limit": 2, "cursor": first["next"]}
    ).json()

    assert [each["id"] for each in first["items"] + rest["items"]] == numbers
    assert rest["next"] is None
    put(asking, numbers[0], decision="deny")
    every = asking.client.get(HERE, params={"session": session, "state": "all"}).json()
    assert [each["id"] for each in every["items"]] == numbers[::-1]
    denied = asking.client.get(HERE, params={"session": session, "state": "denied"}).json()
    assert [each["id"] for each in denied["items"]] == numbers[:1]


def test_the_session_and_the_supervisor_report_an_open_approval(asking: Asking) -> None:
    def waiting() -> int:
        both = [asking.client.get(f"/api/v1/{each}").json() for each in ("supervisor", "overview")]
        assert both[0]["waiting"] == both[1]["supervisor"]["waiting"]
        return int(both[0]["waiting"])

    session, before = asking.running(), waiting()
    numbers = [asking.approval(session_id=session) for _ in range(2)]
    here = f"/api/v1/sessions/{session}"

    asked_at = asking.client.get(f"{HERE}/{numbers[0]}").json()["created_at"]
    tag = asking.client.get(here).headers["ETag"]
    assert asking.client.get(here).json()["waiting_since"] == asked_at
    listed = asking.client.get("/api/v1/sessions").json()["items"]
    assert {each["id"]: each["waiting_since"] for each in listed}[session] == asked_at
    assert waiting() == before + 1, "a session counts once"

    for number in numbers:
        put(asking, number, decision="deny")
    shown = asking.client.get(here)
    assert shown.json()["waiting_since"] is None
    assert shown.headers["ETag"] != tag
    assert waiting() == before


@pytest.mark.parametrize(("decision", "state"), [("approve", "approved"), ("deny", "denied")])
def test_a_decision_names_its_actor_and_is_final(asking: Asking, decision: str, state: str) -> None:
    number = asking.approval()

    made = put(asking, number, decision=decision, note="Only\nthis once").json()
    again = put(asking, number, decision="approve")

    assert (made["state"], made["note"]) == (state, "Only this once")
    assert made["decided_by"].startswith("the token (this machine")
    assert again.status_code == 409
    assert again.json()["detail"].startswith(f"Approval {number} is already closed: {state} by")


def test_an_edit_returns_the_approval_that_replaces_the_old_one(asking: Asking) -> None:
    number = asking.approval()

    made = put(asking, number, decision="edit", argv=[*RESTART, "--time=60"]).json()

    assert made["id"] != number
    assert (made["state"], made["edited"], made["replaces"]) == ("open", True, number)
    assert made["argv"] == [*RESTART, "--time=60"]
    old = asking.client.get(f"{HERE}/{number}").json()
    assert (old["state"], old["replaced_by"]) == ("replaced", made["id"])
    assert put(asking, made["id"], decision="approve").json()["state"] == "approved"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"decision": "edit"}, "argv"),
        ({"decision": "edit", "argv": []}, "argv"),
        ({"decision": "edit", "argv": [""]}, "argv"),
        ({"decision": "edit", "argv": ["a", "b\0"]}, "argv"),
        ({"decision": "edit", "argv": ["a", 1]}, "argv"),
        ({"decision": "edit", "argv": "docker restart jellyfin"}, "argv"),
        ({"decision": "edit", "argv": ["a"] * 101}, "argv"),
        ({"decision": "approve", "argv": ["a"]}, "argv"),
        ({"decision": "maybe"}, "decision"),
        ({"decision": "deny", "note": "x" * 1_001}, "note"),
        ({"decision": "deny", "by": "me"}, "by"),
        ({}, "decision"),
    ],
)
def test_an_invalid_decision_leaves_the_approval_open(
    asking: Asking, body: dict[str, object], field: str
) -> None:
    number = asking.approval()

    answer = put(asking, number, **body)

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert asking.client.get(f"{HERE}/{number}").json()["state"] == "open"


@pytest.mark.parametrize(
    ("more", "detail"),
    [
        ({"expires_at": "2026-01-01T12:00:01.000000Z"}, "expired"),
        ({"session_id": "ended"}, "has ended"),
    ],
)
def test_an_approval_without_a_waiting_session_cannot_be_approved(
    asking: Asking, more: dict[str, object], detail: str
) -> None:
    if "session_id" in more:
        more = {"session_id": asking.session()}
    number = asking.approval(**more)

    for decision in ({"decision": "approve"}, {"decision": "edit", "argv": ["a"]}):
        answer = put(asking, number, **decision)

        assert (answer.status_code, answer.json()["title"]) == (409, "Conflict")
        assert detail in answer.json()["detail"]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_decision_requires_the_scope_to_approve(asking: Asking, scope: str) -> None:
    token = asking.made("/api/v1/tokens", {"scopes": [scope]})["token"]
    headers = {"Authorization": f"Bearer {token}"}
    number = asking.approval()

    answer = asking.client.put(
        f"{HERE}/{number}/decision", json={"decision": "deny"}, headers=headers
    )

    assert answer.status_code == (200 if scope in ("admin", "approvals:write") else 403)
    read = asking.client.get(f"{HERE}/{number}", headers=headers).status_code
    assert read == (200 if "approvals:read" in expand_scopes([scope]) else 403)


def test_session_scopes_include_no_access_to_approvals() -> None:
    mine = {name(op) for op in OPS if "/approvals" in op.path}

    assert len(mine) == 3
    assert not {each for each in expand_scopes(SESSION_SCOPES) if each.startswith("approvals")}


def test_the_overview_counts_open_approvals_without_expired_ones(asking: Asking) -> None:
    before = asking.client.get("/api/v1/overview").json()["approvals"]["open"]
    number = asking.approval()
    asking.approval(expires_at="2026-01-01T12:00:01.000000Z")

    waits = asking.client.get("/api/v1/overview").json()["approvals"]
    put(asking, number, decision="deny")

    assert waits["open"] == before + 1, "what has run out waits for nobody"
    assert waits["oldest_at"] is not None
    assert asking.client.get("/api/v1/overview").json()["approvals"]["open"] == before


def test_a_decision_of_a_login_records_the_browser(asking: Asking) -> None:
    number = asking.approval()
    cookie = asking.cookie()
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    asking.home.write("UPDATE logins SET agent = ? WHERE id = (SELECT max(id) FROM logins)", agent)
    headers = {**cookie, "Sec-Fetch-Site": "same-origin"}

    with httpx2.Client(base_url=asking.client.base_url, headers=headers, timeout=20) as browser:
        made = browser.put(f"{HERE}/{number}/decision", json={"decision": "approve"})

    login = asking.home.value("SELECT max(id) FROM logins")
    assert made.json()["decided_by"] == f"login {login} (Firefox on Linux)"
