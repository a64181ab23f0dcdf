"""HTTP habits of existing clients: the service responds as the services that they know."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from living import Home
from memory_service import MemoryService

SAVES = b'{"session_id":"s","type":"decision","title":"T","content":"Words","project":"p"}'
CHUNKS = (
    b"1e\r\n" + SAVES[:30] + b"\r\n" + b"%x\r\n" % len(SAVES[30:]) + SAVES[30:] + b"\r\n0\r\n\r\n"
)
KIND = b"Content-Type: application/json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryService]:
    started = MemoryService(Home(tmp_path_factory.mktemp("wire") / "home"))
    sent(started, asking(b"POST", b"/observations", SAVES, KIND))
    yield started
    started.kill()


def asking(
    method: bytes,
    target: bytes,
    body: bytes | None = None,
    *headers: bytes,
    version: bytes = b"1.1",
) -> bytes:
    lines = [b"%s %s HTTP/%s" % (method, target, version), b"Host: {host}", *headers]
    lines += [] if body is None else [b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, b"Connection: close", b"", body or b""])


def sent(service: MemoryService, words: bytes) -> bytes:
    """Return all bytes received until the other side closes."""
    here = b"127.0.0.1:%d" % service.port
    heard = b""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(words.replace(b"{host}", here))
        with suppress(ConnectionResetError):
            while some := connection.recv(65_536):
                heard += some
    return heard


def status(heard: bytes) -> int:
    return int(heard.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "words",
    [
        asking(b"POST", b"/observations", SAVES),
        asking(
            b"POST", b"/observations", SAVES, b"Content-Type: application/x-www-form-urlencoded"
        ),
        asking(b"POST", b"/observations", SAVES, b"Content-Type: text/plain"),
        asking(b"POST", b"/observations", SAVES, b"Content-Type: application/json; charset=utf-8"),
        asking(b"POST", b"/observations", SAVES, b"content-type: APPLICATION/JSON"),
        asking(b"POST", b"/observations", SAVES + b"\n", KIND),
        asking(b"POST", b"/observations/", SAVES, KIND),
        asking(b"POST", b"//observations", SAVES, KIND),
        asking(b"POST", b"/agentops//observations/", SAVES, KIND),
        asking(b"POST", b"http://{host}/observations", SAVES, KIND),
        asking(b"POST", b"/observations", SAVES, KIND, version=b"1.0"),
        asking(b"POST", b"/observations", SAVES.replace(b"Words", b"Cut \xe3\x81 off"), KIND),
        asking(b"POST", b"/observations", SAVES.replace(b"Words", b"Cut \\uD83D off"), KIND),
        asking(
            b"POST", b"/observations", SAVES.replace(b"Words", b"Half \\ude00 and \\\\ud83d"), KIND
        ),
        asking(b"POST", b"/observations", SAVES.replace(b"Words", b"Nothing \\u0000 here"), KIND),
        asking(b"POST", b"/observations", None, KIND, b"Transfer-Encoding: chunked") + CHUNKS,
    ],
    ids=[
        "no content type",
        "as curl -d sends it",
        "as text",
        "with a charset",
        "in capitals",
        "with a line end",
        "slash at the end",
        "two slashes",
        "slashes below agentops",
        "a whole address",
        "HTTP/1.0",
        "no UTF-8",
        "half a pair",
        "the other half",
        "NUL",
        "in chunks",
    ],
)
def test_an_observation_is_saved_whatever_headers_the_client_sends(
    service: MemoryService, words: bytes
) -> None:
    heard = sent(service, words)

    assert status(heard) == 201, heard
    assert json.loads(heard.partition(b"\r\n\r\n")[2])["id"] >= 1


@pytest.mark.parametrize("kind", [b"Content-Type: text/plain", b"X-None: 1"])
@pytest.mark.parametrize("says", [b"Origin", b"Referer", b"Cookie"])
def test_a_browser_must_send_json_as_application_json(
    service: MemoryService, says: bytes, kind: bytes
) -> None:
    page = says + b": http://{host}"

    heard = sent(service, asking(b"POST", b"/observations", SAVES, kind, page))

    assert status(heard) == 415, heard


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (b"/search?q=%57ords&project=p", 1),
        (b"/search?project=p&q=words+and+more", 1),
        (b"/search?q=words&project=P&limit=abc&limit=1", 1),
        (b"/search?q=words&limit=&type=&scope=&project=p", 1),
        (b"/search/?q=words&project=p", 1),
        (b"/search?q=100%&project=p", 0),
        (b"/search?q=%E3%81&project=p", 0),
        (b"/search?q=%00&project=p", 0),
        (b"/agentops/search?q=words&project=p&limit=undefined", 1),
        (b"/agentops/search?project=p", 0),
    ],
)
def test_the_query_string_is_decoded_as_clients_encode_it(
    service: MemoryService, target: bytes, found: int
) -> None:
    heard = sent(service, asking(b"GET", target))

    assert status(heard) == 200, heard
    assert len(json.loads(heard.partition(b"\r\n\r\n")[2])) >= found
    assert found or heard.endswith(b"[]")


@pytest.mark.parametrize("below", [b"", b"/agentops"])
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (b"", 400),
        (b"abc", 400),
        (b"1.5", 400),
        (b"9223372036854775808", 400),
        (b"-99999999999999999999", 400),
        (b"9223372036854775807", 404),
        (b"0", 404),
        (b"-1", 404),
    ],
)
def test_the_timeline_of_an_invalid_id_returns_an_error(
    service: MemoryService, below: bytes, number: bytes, told: int
) -> None:
    heard = sent(service, asking(b"GET", below + b"/timeline?observation_id=" + number))

    assert status(heard) == told, heard


@pytest.mark.parametrize(
    ("body", "kind"), [(None, b""), (b"", b""), (b"", KIND), (b"{}", KIND), (b"{}", b"")]
)
def test_a_session_ends_with_or_without_a_body(
    service: MemoryService, body: bytes | None, kind: bytes
) -> None:
    headers = [kind] if kind else []

    heard = sent(service, asking(b"POST", b"/sessions/s/end", body, *headers))

    assert status(heard) == 200, heard


def test_expect_continue_is_answered(service: MemoryService) -> None:
    heard = sent(service, asking(b"POST", b"/observations", SAVES, KIND, b"Expect: 100-continue"))

    assert heard.startswith(b"HTTP/1.1 100 ")
    assert status(heard.partition(b"\r\n\r\n")[2]) == 201


def test_a_connection_serves_many_requests(service: MemoryService) -> None:
    first = asking(b"GET", b"/health").replace(b"Connection: close\r\n", b"")

    heard = sent(service, first + asking(b"GET", b"/stats?project=p"))

    assert heard.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("path", [b"/health", b"/stats", b"/context?project=p", b"/export"])
def test_head_returns_the_headers_of_get_without_a_body(
    service: MemoryService, path: bytes
) -> None:
    heard = sent(service, asking(b"HEAD", path))

    assert status(heard) == 200
    assert heard.endswith(b"\r\n\r\n")
    assert heard.count(b"\r\n\r\n") == 1


def test_options_returns_405_with_the_allowed_methods(
    service: MemoryService,
) -> None:
    heard = sent(service, asking(b"OPTIONS", b"/observations"))

    assert status(heard) == 405
    assert b"allow: POST, GET, HEAD" in heard
    assert json.loads(heard.partition(b"\r\n\r\n")[2])["error"]


def test_an_encoded_slash_in_a_session_id_is_preserved(service: MemoryService) -> None:
    given = b'{"id":"a//b/","project":"p"}'
    sent(service, asking(b"POST", b"/sessions", given, KIND))

    heard = sent(service, asking(b"POST", b"/sessions/a%2F%2Fb%2F/end", b""))

    assert status(heard) == 200, heard
    assert json.loads(heard.partition(b"\r\n\r\n")[2])["id"] == "a//b/"


def test_a_health_probe_may_use_the_ip_address_that_it_reaches(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A cluster's probe knows no name: its Host is the address of the container."""
    words = ("--host", "0.0.0.0")
    started = MemoryService(Home(tmp_path_factory.mktemp("probed") / "home"), words=words)
    try:
        heard = {}
        for address, host in (("127.0.0.2", ""), ("127.0.0.2", "127.0.0.3"), ("127.0.0.2", "evil")):
            with socket.create_connection((address, started.port), timeout=20) as connection:
                named = b"%s:%d" % ((host or address).encode(), started.port)
                connection.sendall(asking(b"GET", b"/health").replace(b"{host}", named))
                heard[host] = status(connection.recv(65_536))
    finally:
        started.kill()

    assert heard == {"": 200, "127.0.0.3": 403, "evil": 403}
