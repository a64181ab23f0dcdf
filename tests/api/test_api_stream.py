"""The change feed over a real connection: no change is missed or sent twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from listening import PATIENCE, Message, listening, take
from route_requests import Asking

from lamplighter import __version__
from lamplighter.repository.store.backend import READERS
from living import Server

CLIENTS = 20
CHANGES = 200


def happened(client: httpx2.Client, *words: str) -> None:
    for each in words:
        made = client.post("/api/v1/events", json={"level": "info", "text": each})
        assert made.status_code == 201


def feed(client: httpx2.Client, after: int = 0) -> list[dict[str, Any]]:
    """Return the changes as the list route returns them."""
    found: list[dict[str, Any]] = []
    while True:
        body = client.get("/api/v1/changes", params={"after": after, "limit": 7}).json()
        found += body["items"]
        if not body["items"]:
            return found
        after = body["next"]


def as_listed(message: Message) -> dict[str, Any]:
    return {"seq": message.id, "entity": message.event, **message.data}


def last(client: httpx2.Client) -> int:
    return int(client.get("/api/v1/changes").json()["seq"])


def test_the_stream_starts_with_the_current_sequence_number(
    own_server: Server, own_client: httpx2.Client
) -> None:
    happened(own_client, "before")

    with listening(own_server) as messages:
        assert next(messages) == Message(1, "hello", {"seq": 1, "version": __version__})


def test_the_stream_sends_each_change_as_listed(
    own_server: Server, own_client: httpx2.Client
) -> None:
    asking = Asking(own_server.home, own_client)
    with listening(own_server) as messages:
        assert next(messages).event == "hello"
        memory = asking.memory()
        own_client.patch(f"/api/v1/memories/{memory}", json={"confidence": 0.2})
        asking.request()
        happened(own_client, "an event")
        heard = take(messages, 4)
        own_client.delete(f"/api/v1/memories/{memory}")
        gone = next(messages)

    assert [(each.event, each.data["op"]) for each in heard] == [
        ("memory", "created"),
        ("memory", "updated"),
        ("request", "created"),
        ("event", "created"),
    ]
    assert heard[1].data["row"] == {
        **heard[0].data["row"],
        "confidence": 0.2,
        "active": False,
        "inactive_reason": "low",
        "updated_at": heard[1].data["row"]["updated_at"],
        "version": 2,
    }
    assert (gone.event, gone.data) == (
        "memory",
        {"op": "deleted", "id": memory, "version": 3, "row": None},
    )
    listed = feed(own_client)
    # what was deleted for good is blank in the list, and was not when it was heard
    assert [{**as_listed(each), "row": None} for each in [*heard, gone]] == [
        {**{key: each[key] for key in each if key != "at"}, "row": None} for each in listed
    ]


@pytest.mark.parametrize("how", ["last", "after"])
@pytest.mark.parametrize("read", [0, 3, 10])
def test_a_reconnected_client_receives_each_missed_change_once(
    server: Server, client: httpx2.Client, how: str, read: int
) -> None:
    start = last(client)
    happened(client, *(f"Event {number}" for number in range(10)))

    with listening(server, **{how: start + read}) as messages:
        hello = next(messages)
        happened(client, "Event 10")
        heard = take(messages, 11 - read)

    assert hello.data["seq"] == start + read
    assert [each.id for each in heard] == list(range(start + read + 1, start + 12))
    assert [each.data["row"]["text"] for each in heard] == [
        f"Event {number}" for number in range(read, 11)
    ]


def test_streams_use_no_database_connection(server: Server, client: httpx2.Client) -> None:
    """More streams than connections, and the process opens no further one."""

    def connections() -> int:
        found = 0
        for each in Path(f"/proc/{server.pid}/fd").iterdir():
            with suppress(OSError):
                found += each.readlink().name == "lamplighter.db"
        return found

    happened(client, "before")
    before = connections()
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(listening(server)) for _ in range(2 * READERS)]
        assert [next(each).event for each in streams] == ["hello"] * len(streams)
        assert client.get("/api/v1/search", params={"q": "before"}).status_code == 200
        happened(client, "during")
        assert [next(each).event for each in streams] == ["event"] * len(streams)
        during = connections()

    assert 0 < before == during


def test_the_last_event_id_overrides_the_after_parameter(
    server: Server, client: httpx2.Client
) -> None:
    happened(client, "one", "two", "three")

    with listening(server, after=0, last=last(client) - 1) as messages:
        assert take(messages, 2)[1].data["row"]["text"] == "three"


def test_a_client_that_read_only_the_greeting_misses_no_change(
    server: Server, client: httpx2.Client
) -> None:
    happened(client, "one")
    with listening(server) as messages:
        greeted = next(messages).id
    happened(client, "two")

    with listening(server, last=greeted) as messages:
        assert take(messages, 2)[1].data["row"]["text"] == "two"


def test_a_client_behind_the_retention_receives_a_reset(
    own_server: Server, own_client: httpx2.Client
) -> None:
    happened(own_client, *(f"Event {number}" for number in range(10)))
    own_server.home.write("DELETE FROM changes WHERE seq <= 5")
    own_server.kill()
    own_server.start()

    with listening(own_server, last=4) as messages:
        hello, reset = take(messages, 2)
        happened(own_client, "after the reset")
        heard = next(messages)

    assert (hello.event, reset) == ("hello", Message(10, "reset", {"seq": 10}))
    assert (heard.id, heard.data["row"]["text"]) == (11, "after the reset")
    assert own_client.get("/api/v1/changes", params={"after": 4}).json() == {
        "seq": 11,
        "reset": True,
    }
    assert [each["seq"] for each in feed(own_client, after=5)] == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("ahead", [1, 10**6, 10**17])
def test_a_sequence_number_of_the_future_receives_a_reset(
    server: Server, client: httpx2.Client, ahead: int
) -> None:
    happened(client, "one")
    here = last(client)

    with listening(server, last=here + ahead) as messages:
        assert take(messages, 2)[1] == Message(here, "reset", {"seq": here})
    assert client.get("/api/v1/changes", params={"after": here + ahead}).json() == {
        "seq": here,
        "reset": True,
    }


@pytest.mark.parametrize("words", ["", "x", "-1", "1.5", "9" * 400, "\u0662"])
def test_an_invalid_last_event_id_is_ignored(
    server: Server, client: httpx2.Client, words: str
) -> None:
    happened(client, "one")
    here = last(client)

    with client.stream(
        "GET", "/api/v1/stream", headers={"Last-Event-ID": words.encode()}
    ) as answer:
        lines = answer.iter_lines()
        assert [next(lines) for _ in range(4)] == [
            "retry: 2000",
            f"id: {here}",
            "event: hello",
            f'data: {{"seq":{here},"version":"{__version__}"}}',
        ]


def test_a_reconnected_client_receives_the_changes_after_a_server_kill(
    own_server: Server, own_client: httpx2.Client
) -> None:
    with listening(own_server) as messages:
        next(messages)
        happened(own_client, "one", "two")
        heard = take(messages, 2)
        own_server.kill()
        with pytest.raises((StopIteration, httpx2.HTTPError)):
            next(messages)
    own_server.home.says("[MEMORY:timing:jellyfin] Learned while nobody listened")
    own_server.start()

    with listening(own_server, last=heard[-1].id) as messages:
        next(messages)
        happened(own_client, "three")
        missed = take(messages, last(own_client) - 2)

    assert [each.id for each in missed] == list(range(3, last(own_client) + 1))
    assert [as_listed(each) for each in [*heard, *missed]] == [
        {key: each[key] for key in each if key != "at"} for each in feed(own_client)
    ]
    assert "Learned while nobody listened" in str(missed)


def test_changes_of_another_process_are_sent_while_its_session_runs(
    own_server: Server, own_client: httpx2.Client
) -> None:
    with listening(own_server) as messages:
        next(messages)
        own_server.home.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
        heard = take(messages, last(own_client))

    entities = [(each.event, each.data["op"]) for each in heard]
    ended = [
        number
        for number, each in enumerate(heard)
        if each.event == "session" and each.data["row"]["status"] == "completed"
    ]
    assert entities.index(("memory", "created")) < ended[0]


def test_many_clients_each_receive_all_changes_in_order(
    own_server: Server, own_client: httpx2.Client
) -> None:
    ready = threading.Barrier(CLIENTS + 1, timeout=PATIENCE)

    def hear(number: int) -> list[int | None]:
        with listening(own_server) as messages:
            next(messages)
            ready.wait()
            return [each.id for each in take(messages, CHANGES)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        hearing = [pool.submit(hear, number) for number in range(CLIENTS)]
        ready.wait()
        happened(own_client, *(f"Event {number}" for number in range(CHANGES)))
        heard = [each.result(60) for each in hearing]

    assert heard == [list(range(1, CHANGES + 1))] * CLIENTS


def test_a_list_returns_the_sequence_number_to_follow_from(
    own_server: Server, own_client: httpx2.Client
) -> None:
    asking = Asking(own_server.home, own_client)
    asking.memory(observation="before")
    page = own_client.get("/api/v1/memories").json()
    asking.memory(observation="after")

    with listening(own_server, after=page["seq"]) as messages:
        assert take(messages, 2)[1].data["row"]["observation"] == "after"
    assert [each["observation"] for each in page["items"]] == ["before"]


def test_a_client_can_request_pings(own_server: Server, own_client: httpx2.Client) -> None:
    address = f"{own_server.url}/api/v1/stream?ping=1"
    with own_client.stream("GET", address, timeout=PATIENCE) as answer:
        lines = (line for line in answer.iter_lines() if line.startswith("event: "))
        assert [next(lines), next(lines)] == ["event: hello", "event: ping"]

    assert own_client.get("/api/v1/stream?ping=0").status_code == 422
