"""Check results over HTTP: latency, heartbeats, and the stream of new results."""

from datetime import UTC, datetime, timedelta

import httpx2
from listening import listening, take

from check_results import store_results
from lamplighter.domain.services.series import CheckRun, PointState
from living import Home, Server

SERVICES = """
services:
  db:
    group: storage
    checks:
      - tcp: 127.0.0.1:9
  web:
    checks:
      - tcp: 127.0.0.1:10
"""


def check(home: Home, *runs: tuple[str, PointState, datetime]) -> None:
    """Store results as the supervisor does, as seen from another process."""
    found = [
        CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, latency_ms=12.5)
        for name, state, at in runs
    ]
    store_results(home.path, found)


def test_new_results_reach_a_stream_together_and_are_not_sent_again(
    own_server: Server, own_client: httpx2.Client
) -> None:
    now = datetime.now(UTC)
    with listening(own_server) as messages:
        hello = next(messages)
        check(own_server.home, ("db", PointState.PASSED, now), ("web", PointState.FAILED, now))
        found = next(messages)
        event = {"level": "info", "text": "after"}
        own_client.post("/api/v1/events", json=event)
        [after] = take(messages, 1)

    assert (hello.event, found.event, found.id) == ("hello", "check_results", None)
    assert [(each["service"], each["state"]) for each in found.data["items"]] == [
        ("db", "passed"),
        ("web", "failed"),
    ]
    assert [each["silent"] for each in found.data["items"]] == [False, False]
    assert after.event == "event"
    assert after.id == hello.data["seq"] + 1


def test_heartbeats_and_latency_are_read_by_service_and_group(
    own_server: Server, own_client: httpx2.Client
) -> None:
    own_server.home.services.write_text(SERVICES)
    now = datetime.now(UTC)
    for n in (3, 2, 1):
        check(own_server.home, ("db", PointState.PASSED, now - n * timedelta(minutes=1)))

    [found] = own_client.get("/api/v1/heartbeats", params={"group": "Storage"}).json()["services"]
    assert (found["service"], found["states"], found["day"]) == ("db", "ppp", 100.0)
    every = own_client.get("/api/v1/heartbeats").json()["services"]
    assert [each["service"] for each in every] == ["db", "web"]
    only = own_client.get("/api/v1/heartbeats", params={"service": "WEB"}).json()["services"]
    assert [(each["service"], each["states"]) for each in only] == [("web", "")]

    latency = own_client.get("/api/v1/services/db/latency", params={"period": "1h"}).json()
    assert (latency["seconds"], latency["checks"][0]["count"]) == (60, [1, 1, 1])
    assert own_client.get("/api/v1/services/none/latency").status_code == 404

    detail = own_client.get("/api/v1/services/DB").json()
    uptime = own_client.get("/api/v1/services/db/uptime").json()
    day = own_client.get("/api/v1/services/db/latency").json()
    assert detail["uptime"].items() <= uptime.items()
    assert (detail["latency"].keys(), detail["seq"]) == (day.keys() - {"seq"}, day["seq"])
    assert (detail["latency"]["period"], detail["latency"]["checks"]) == ("24h", day["checks"])
    listed = own_client.get("/api/v1/services").json()["items"][0]
    assert detail.keys() - listed.keys() == {
        *("uptime", "latency", "incidents", "strongest_memories", "seq")
    }
    wrong = own_client.get("/api/v1/services/db/latency", params={"period": "2h"})
    assert wrong.status_code == 422


def test_the_strip_has_as_many_days_as_requested(
    own_server: Server, own_client: httpx2.Client
) -> None:
    own_server.home.services.write_text(SERVICES)

    for path, key in (("/api/v1/services", "items"), ("/api/v1/overview", "services")):
        whole, some, none = (
            own_client.get(path, params={} if strip is None else {"strip": strip}).json()[key]
            for strip in (None, 2, 0)
        )
        assert [len(each["strip"]) for each in (whole[0], some[0], none[0])] == [30, 2, 0]
        assert some[0]["strip"] == whole[0]["strip"][-2:]
        assert {**whole[0], "strip": []} == none[0]
        for wrong in ("-1", "31", "all"):
            answer = own_client.get(path, params={"strip": wrong})
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "strip")
