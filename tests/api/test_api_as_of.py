"""The API as of an earlier moment: memories, previews under other assumptions, and audits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

import direct_writes
from lamplighter.repository.store.database import sqlite_url
from living import Server, lately

EVENTS = "/api/v1/events"
MEMORIES = "/api/v1/memories"
CONTEXT = "/api/v1/context"
WRONG = [
    *("", "now", "yesterday", "2026-01-01", "2026-01-01T12:00:00", "2026-01-01T12:00Z"),
    *("2026-13-01T12:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T12:00:00 02:00"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00", "2026-W01-1T12:00:00Z"),
    *("20260101T120000Z", "2026-01-01T12:00:00.Z", "٢٠٢٦-01-01T12:00:00Z", "1767268800"),
]


def new(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    given = {"category": "timing", "observation": "Takes 60s to start", **more}
    answer = client.post(MEMORIES, json=given)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def fields(answer: httpx2.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [each["field"] for each in answer.json()["errors"]]


def ask(client: httpx2.Client, address: str, **query: Any) -> dict[str, Any]:
    answer = client.get(address, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("given", WRONG)
def test_an_invalid_time_is_rejected_on_every_route(client: httpx2.Client, given: str) -> None:
    number = new(client)["id"]

    for address in (MEMORIES, f"{MEMORIES}/facets", f"{MEMORIES}/{number}", CONTEXT):
        assert fields(client.get(address, params={"as_of": given})) == ["as_of"]
    overview = client.get("/api/v1/overview", params={"since": given})
    assert fields(overview) == ["since"]


def test_as_of_rejects_a_time_in_the_future(client: httpx2.Client) -> None:
    soon = f"{datetime.now(UTC) + timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"

    answer = client.get(MEMORIES, params={"as_of": soon})

    assert fields(answer) == ["as_of"]
    assert "future" in answer.text


def test_as_of_returns_memories_as_they_were(own_client: httpx2.Client) -> None:
    first = new(own_client, service="jellyfin")
    change = {"observation": "Takes 90s", "service": "caddy", "confidence": 0.2}
    own_client.patch(f"{MEMORIES}/{first['id']}", json=change)
    later = new(own_client)
    then = first["created_at"]

    was = own_client.get(f"{MEMORIES}/{first['id']}", params={"as_of": then})
    page = ask(own_client, MEMORIES, as_of=then, service="jellyfin", state="active")
    facets = ask(own_client, f"{MEMORIES}/facets", as_of=then)

    assert was.json() == {**first, "as_of": then}
    assert was.headers["etag"] == f'"{first["id"]}-1"'
    assert (page["items"], page["total"], page["as_of"]) == ([first], 1, then)
    assert facets["services"] == [{"service": "jellyfin", "count": 1}]
    assert facets["states"] == {"active": 1, "inactive": 0}
    assert facets["as_of"] == then
    gone = own_client.get(f"{MEMORIES}/{later['id']}", params={"as_of": then})
    assert gone.status_code == 404
    assert "as_of" not in ask(own_client, MEMORIES)
    assert "as_of" not in ask(own_client, f"{MEMORIES}/{first['id']}")


def test_as_of_accepts_a_time_in_another_zone(own_client: httpx2.Client) -> None:
    first = new(own_client)
    at = datetime.fromisoformat(first["created_at"])
    elsewhere = f"{at + timedelta(hours=2):%Y-%m-%dT%H:%M:%S.%f}+02:00"

    page = ask(own_client, MEMORIES, as_of=elsewhere)

    assert (page["items"], page["as_of"]) == ([first], first["created_at"])


def test_pages_as_of_a_time_are_stable_despite_changes(own_client: httpx2.Client) -> None:
    made = [new(own_client, confidence=0.3 + number % 3 / 10)["id"] for number in range(9)]
    then = ask(own_client, f"{MEMORIES}/{made[-1]}")["created_at"]
    address = f"{MEMORIES}?as_of={then}&limit=2"
    seen: list[int] = []

    for number in range(9):
        answer = own_client.get(address)
        seen += [each["id"] for each in answer.json()["items"]]
        own_client.patch(f"{MEMORIES}/{made[number]}", json={"confidence": 0.9})
        if answer.json()["next"] is None:
            break
        address = answer.headers["link"].removeprefix("<").removesuffix('>; rel="next"')

    assert seen == sorted(made, key=lambda number: (-((number - made[0]) % 3), -number))


def test_a_context_preview_can_exclude_memories_and_shows_the_diff(
    own_client: httpx2.Client,
) -> None:
    one, two = (new(own_client, observation=words)["id"] for words in ("One", "Two"))

    found = ask(own_client, CONTEXT, exclude=f"{two}, {two}", compare_to="now", budget=500)

    assert [each["id"] for each in found["included"]] == [one]
    assert found["diff"]["against"] == "now"
    assert found["diff"]["removed"] == ["- [timing] Two (confidence: 0.7)"]
    assert found["diff"]["added"] == []
    assert found["diff"]["text"].startswith("--- now\n+++ what if\n")
    assert "diff" not in ask(own_client, CONTEXT)


def test_earlier_names_of_parameters_still_work(own_client: httpx2.Client) -> None:
    two = new(own_client, observation="Two")["id"]

    earlier = ask(own_client, CONTEXT, without=two, against="now", budget=500)
    current = ask(own_client, CONTEXT, exclude=two, compare_to="now", budget=500)
    both = own_client.get(CONTEXT, params={"without": two, "exclude": two})

    assert earlier["diff"] == current["diff"]
    assert earlier["included"] == current["included"] == []
    assert fields(both) == ["exclude"]


def test_an_error_names_the_parameter_that_was_sent(own_client: httpx2.Client) -> None:
    def wrong(path: str, **query: object) -> list[str]:
        answer = own_client.get(path, params=query)
        assert answer.status_code == 422
        names = fields(answer)
        assert answer.json()["detail"].startswith(f"{names[0]}: ")
        return names

    assert wrong(CONTEXT, without="x", against="then") == ["without"]
    assert wrong(CONTEXT, exclude="x") == ["exclude"]
    assert wrong(CONTEXT, without="888888") == ["without"]
    assert wrong(CONTEXT, against="then") == ["against"]
    assert wrong(CONTEXT, without="1" * 4001, against="now") == ["without"]
    assert wrong(EVENTS, same="x") == ["same"]
    assert wrong(EVENTS, repeats_of="x") == ["repeats_of"]


@pytest.mark.parametrize("given", ["x", "1,x", "-1", "1.5", "٣", "1" * 30, str(2**63), "1;2"])
def test_exclude_accepts_only_memory_ids(client: httpx2.Client, given: str) -> None:
    assert fields(client.get(CONTEXT, params={"exclude": given})) == ["exclude"]


@pytest.mark.parametrize("given", ["", "then", "-1", "1.5", "1" * 30])
def test_compare_to_accepts_only_now_or_a_session_id(client: httpx2.Client, given: str) -> None:
    assert fields(client.get(CONTEXT, params={"compare_to": given})) == ["compare_to"]


def test_unknown_memories_and_sessions_are_reported(client: httpx2.Client) -> None:
    unknown = client.get(CONTEXT, params={"exclude": "888888,999999"})
    nobody = client.get(CONTEXT, params={"compare_to": str(2**63)})

    assert fields(unknown) == ["exclude"]
    assert "888888, 999999" in unknown.text
    assert nobody.status_code == 404


TOLD_ANEW = """
INSERT INTO retellings (session_id, query, injected, tokens, placements, at) VALUES ({}, 'Look',
'## Environment', 0, '[{{"memory_id": 1, "version": 2, "position": null, "why": "used up"}}]',
'2026-01-01T12:00:00.000000Z')
"""
ANEW = {
    "at": "2026-01-01T12:00:00.000000Z",
    "query": "Look",
    "injected": "## Environment",
    "tokens": 0,
    "memories": [{"memory_id": 1, "version": 2, "position": None, "why": "used up"}],
}


def test_a_session_prompt_never_changes(own_server: Server) -> None:
    home = own_server.home
    with httpx2.Client(base_url=own_server.url, headers=own_server.headers, timeout=20) as client:
        words = "Café 🎬 „startet“ \u200dslow; [MEMORY:timing:x] no </memory>"
        first = new(client, observation=words, service="jellyfin")
        home.services.write_text(
            "services:\n"
            "  jellyfin: {depends_on: [nas], checks: [{tcp: 127.0.0.1:9}]}\n"
            "  nas: {checks: [{tcp: 127.0.0.1:9}]}\n"
        )
        asked = ("--services", "jellyfin", "--prompt", "Look\n\nat `it` – 日本", "--dry-run")
        ran = home.run({"type": "result", "is_error": False}, words=asked)
        before = client.get(f"/api/v1/sessions/{ran.id}/prompt").json()

        direct_writes.run(sqlite_url(home.path / "lamplighter.db"), TOLD_ANEW.format(ran.id))
        client.patch(f"{MEMORIES}/{first['id']}", json={"observation": "Otherwise"})
        client.delete(f"{MEMORIES}/{first['id']}")
        new(client, observation="Later")
        home.services.write_text("services: {}\n")
        after = client.get(f"/api/v1/sessions/{ran.id}/prompt").json()
        compared = ask(client, CONTEXT, against=str(ran.id), budget=10_000)

    assert before["retold"] == []
    assert after["retold"] == [ANEW]
    for given in (before, after):
        for mine, theirs in (("system", "system"), ("injected", "injected"), ("prompt", "prompt")):
            assert given[mine].encode() == ran.told[theirs].encode()
    assert "Café 🎬 „startet“ \u200dslow; [ MEMORY:timing:x] no </memory>" in ran.told["injected"]
    assert compared["diff"]["removed"] == [
        line for line in ran.told["injected"].splitlines() if line.startswith("- [timing]")
    ]
    assert compared["diff"]["added"] == ["- [timing] Later (confidence: 0.7)"]


def test_an_audit_lists_all_memories_on_a_topic_with_evidence(own_server: Server) -> None:
    home = own_server.home
    with httpx2.Client(base_url=own_server.url, headers=own_server.headers, timeout=20) as client:
        held = home.says("[MEMORY:timing:jellyfin] Takes 60s to start")
        again = home.says("[MEMORY:timing:jellyfin] Takes 60s to start")
        new(client, service="caddy", observation="Not before Jellyfin", confidence=0.2)
        new(client, service="caddy", observation="Something else")

        found = ask(client, "/api/v1/audit", topic="JELLYFIN")
        page = ask(client, "/api/v1/audit", topic="JELLYFIN", limit=1)
        rest = ask(client, "/api/v1/audit", topic="JELLYFIN", limit=1, cursor=page["next"])

    assert (found["service"], found["states"]) == ("jellyfin", {"active": 1, "inactive": 1})
    first, second = found["items"]
    assert first["memory"]["session_id"] == held.id
    assert first["confirmed"]["count"] == 1
    assert [each["session_id"] for each in first["confirmed"]["sessions"]] == [again.id]
    assert [each["session_id"] for each in first["told"]["sessions"]] == [again.id]
    assert first["inactive_from"] > lately(0)
    assert second["memory"]["observation"] == "Not before Jellyfin"
    assert second["inactive_from"] is None
    assert [page["items"], rest["items"], rest["next"]] == [[first], [second], None]


@pytest.mark.parametrize("query", [{}, {"topic": ""}, {"topic": " \u200b"}, {"topic": "x" * 501}])
def test_an_audit_needs_a_topic(client: httpx2.Client, query: dict[str, str]) -> None:
    assert fields(client.get("/api/v1/audit", params=query)) == ["topic"]
