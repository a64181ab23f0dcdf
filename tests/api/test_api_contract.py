"""Rules for every route, generated from the list of routes: a new route is covered."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_origin

import httpx2
import msgspec
from msgspec import inspect
from route_requests import (
    METHODS,
    PATHS,
    WITH_BODY,
    WITH_ID,
    WITH_QUERY,
    WITH_VERSION,
    Asking,
    name,
    names_in,
    numbered,
    row_of,
)

import lamplighter
from cells import walk
from lamplighter.api.common_shapes import OptionalBody, Problem
from lamplighter.api.guard import HEADERS, MAX_BODY_BYTES
from lamplighter.api.op import V1
from lamplighter.api.responses import PROBLEM
from lamplighter.api.routes import OPS, Operation

OPTIONAL = [op for op in WITH_BODY if op.body and issubclass(op.body, OptionalBody)]
every = walk("op", OPS, ids=name)
MUCH = b" " * (MAX_BODY_BYTES + 1)


def problem(answer: httpx2.Response, status: int) -> dict[str, Any]:
    """Return the problem of a response, after checking its whole form."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    body: dict[str, Any] = answer.json()
    assert msgspec.to_builtins(msgspec.convert(body, Problem, strict=True)) == body
    assert body["status"] == status
    return body


def kept(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without its time-dependent fields."""
    return {name: value for name, value in row.items() if name != "seconds_left"}


def fields(body: dict[str, Any]) -> list[str]:
    return sorted(each["field"] for each in body["errors"])


@every
def test_a_valid_request_returns_the_declared_schema(asking: Asking, op: Operation) -> None:
    answer = asking.ask(op)

    assert answer.status_code == op.status
    if op.gives:
        body = answer.json()
        assert msgspec.to_builtins(msgspec.convert(body, op.gives, strict=True)) == body
    if op.status != 204:
        assert answer.headers["content-type"].partition(";")[0] == op.media


@every
def test_every_response_has_the_security_headers(asking: Asking, op: Operation) -> None:
    wanted = {each.lower(): value for each, value in HEADERS.items()}
    if op.path.startswith("/api/"):
        wanted["cache-control"] = "no-store"

    if op.path == "/status":  # it is no page of the app, and has a policy of its own
        del wanted["content-security-policy"]

    elsewhere = {"Host": "evil.example"}
    good = asking.ask(op)
    refused = asking.ask(op, address=numbered(op.path, "1"), headers=elsewhere)

    for answer in (good, refused):
        assert wanted.items() <= dict(answer.headers).items()


@walk(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "["},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://localhost:1"},
    ],
    ids=lambda headers: "{0[0]}: {0[1]}".format(*headers.items()),
)
@every
def test_a_foreign_host_or_origin_is_denied(
    asking: Asking, op: Operation, headers: dict[str, str]
) -> None:
    address = numbered(op.path, "1")

    problem(asking.ask(op, address=address, headers=headers), 403)


@walk("site", ["cross-site", "same-site"])
@walk("op", [op for op in OPS if op.method != "GET"], ids=name)
def test_a_cross_site_browser_request_cannot_change_data(
    asking: Asking, op: Operation, site: str
) -> None:
    address = numbered(op.path, "1")

    problem(asking.ask(op, address=address, headers={"Sec-Fetch-Site": site}), 403)


@every
def test_a_same_origin_request_is_accepted(asking: Asking, op: Operation) -> None:
    here = str(asking.client.base_url).rstrip("/")

    answer = asking.ask(op, headers={"Origin": here, "Sec-Fetch-Site": "same-origin"})

    assert answer.status_code == op.status


def repeats(kind: Any) -> bool:
    """Whether a parameter of this type may be repeated."""
    plain = kind.__origin__ if get_origin(kind) is Annotated else kind
    return get_origin(plain) is list


@walk("op", WITH_QUERY, ids=name)
def test_all_invalid_parameters_are_reported_together(asking: Asking, op: Operation) -> None:
    assert op.query
    known = {field.encode_name: field.type for field in msgspec.structs.fields(op.query)}
    once = [each for each, kind in known.items() if not repeats(kind)]
    twice = [(each, "9") for each in once for _ in range(2)]

    body = problem(asking.ask(op, params=[("nonsense", "1"), ("Limit", "1"), *twice]), 422)

    assert {"Limit", "nonsense", *once} <= set(fields(body))


WITHOUT_QUERY = [
    op for op in OPS if op.method == "GET" and not op.query and op.path.startswith(f"{V1}/")
]


@walk("op", WITHOUT_QUERY, ids=name)
def test_a_route_without_parameters_refuses_each(asking: Asking, op: Operation) -> None:
    assert fields(problem(asking.ask(op, params={"days": "1"}), 422)) == ["days"]


@walk("number", ["0", str(2**63 - 1), str(2**63), "9" * 5_000])
@walk("op", WITH_ID, ids=name)
def test_an_unknown_id_returns_404(asking: Asking, op: Operation, number: str) -> None:
    problem(asking.ask(op, address=numbered(op.path, number)), 404)


@walk("op", WITH_BODY, ids=name)
def test_all_invalid_fields_are_reported_together(asking: Asking, op: Operation) -> None:
    assert op.body
    known = [field.encode_name for field in msgspec.structs.fields(op.body)]

    body = problem(asking.ask(op, json={each: [{"x": 1}] for each in [*known, "nonsense"]}), 422)

    assert fields(body) == sorted([*known, "nonsense"])


@walk("op", WITH_BODY, ids=name)
def test_all_missing_fields_are_reported_together(asking: Asking, op: Operation) -> None:
    assert op.body
    needed = [field.encode_name for field in msgspec.structs.fields(op.body) if field.required]

    body = problem(asking.ask(op, json={"nonsense": 1}), 422)

    assert fields(body) == sorted([*needed, "nonsense"])


@walk(
    ("content", "status"),
    [
        (b" ", 400),
        (b"{", 400),
        (b"{} {}", 400),
        (b"\xff\xfe", 400),
        (b'{"a": "\xff"}', 400),
        (b'{"a": NaN}', 400),
        (b'{"a": Infinity}', 400),
        (b'{"a": 1e999}', 400),
        (b'{"a": "\\ud800"}', 400),
        (b'{"a":' * 50_000, 400),
        (b'{"fields":' + b"[" * 300 + b"]" * 300 + b"}", 400),
        (b"[]", 422),
        (b'"text"', 422),
        (b"null", 422),
        (b"1", 422),
        (MUCH, 413),
    ],
    ids=lambda given: repr(given[:14]) if isinstance(given, bytes) else str(given),
)
@walk("op", WITH_BODY, ids=name)
def test_a_body_that_is_not_a_json_object_is_rejected(
    asking: Asking, op: Operation, content: bytes, status: int
) -> None:
    address, headers = numbered(op.path, "1"), {"Content-Type": "application/json"}

    problem(asking.ask(op, address=address, content=content, headers=headers), status)


@walk("op", WITH_BODY, ids=name)
def test_a_chunked_body_over_the_limit_is_rejected(asking: Asking, op: Operation) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(12):
            yield MUCH[:100_000]

    address, headers = numbered(op.path, "1"), {"Content-Type": "application/json"}

    problem(asking.ask(op, address=address, content=parts(), headers=headers), 413)


def test_an_event_of_a_client_that_is_nested_too_deeply_is_rejected(asking: Asking) -> None:
    begin = b'{"session_id": "s", "cwd": "/srv", "tool_name": "Bash", "tool_response": '
    content = begin + b"[" * 900 + b"]" * 900 + b"}"

    problem(asking.client.post("/api/v1/hooks/PostToolUse", content=content), 400)


def unbounded(kind: Any) -> bool:
    """Whether a type accepts an integer that no column of a database stores."""
    if isinstance(kind, inspect.IntType):
        return kind.ge is None or kind.le is None
    inner = (kind.item_type,) if isinstance(kind, inspect.ListType) else ()
    return any(map(unbounded, getattr(kind, "types", inner)))


@every
def test_every_integer_of_a_request_has_bounds(op: Operation) -> None:
    forms = [inspect.type_info(form) for form in (op.body, op.query) if form]
    members = {each.encode_name: each.type for form in forms for each in form.fields}

    wrong = {name for name, kind in members.items() if unbounded(kind)}

    assert wrong <= ({"id"} if op.path.endswith("/relate") else set())  # a label, not stored


LISTS = [
    op
    for op in OPS
    # what is like a text is never more than five
    if "items" in names_in(op.gives) and not op.path.endswith("/similar")
]


@walk("op", LISTS, ids=name)
def test_every_list_is_paged(op: Operation) -> None:
    assert {"items", "seq"} < names_in(op.gives)
    if op.path.endswith("/chain"):  # of one outage, and never more than three
        return
    assert "next" in names_in(op.gives)
    assert "limit" in names_in(op.query)
    if op.path.endswith("/search"):  # the best of what is found; who wants more asks for more
        return
    assert {"cursor", "after"} & names_in(op.query)


@walk("op", OPS, ids=name)
def test_a_long_query_string_is_rejected(asking: Asking, op: Operation) -> None:
    long = {"q": "x" * 9_000}

    problem(asking.ask(op, address=numbered(op.path, "1"), params=long), 414)


@walk("kind", [None, "", "text/plain", "application/x-www-form-urlencoded"])
@walk("op", WITH_BODY, ids=name)
def test_a_body_requires_the_content_type_json(
    asking: Asking, op: Operation, kind: str | None
) -> None:
    address, headers = numbered(op.path, "1"), {} if kind is None else {"Content-Type": kind}

    problem(asking.ask(op, address=address, content=b"{}", headers=headers), 415)


@walk("content", [b"", b" \n"])
@walk("op", WITH_BODY, ids=name)
def test_an_empty_body_is_called_empty_unless_it_is_optional(
    asking: Asking, op: Operation, content: bytes
) -> None:
    headers = {"Content-Type": "application/json"}
    if not content and op in OPTIONAL:
        assert asking.ask(op, content=content, headers=headers).status_code == op.status
        return
    address = numbered(op.path, "1")

    body = problem(asking.ask(op, address=address, content=content, headers=headers), 400)

    assert body["detail"] == "The body is empty. Send a JSON object."


@walk("path", PATHS)
def test_a_wrong_method_returns_405_with_the_allowed_methods(asking: Asking, path: str) -> None:
    right = {op.method for op in OPS if op.path == path}
    wanted = right | ({"HEAD"} if "GET" in right else set())

    for method in sorted({*METHODS, "TRACE"} - right):
        answer = asking.client.request(method, numbered(path, "1"))

        problem(answer, 405)
        assert set(answer.headers["allow"].split(", ")) == wanted


@walk("op", [op for op in OPS if op.method == "GET" and not op.person], ids=name)
def test_head_returns_the_headers_of_get_without_a_body(asking: Asking, op: Operation) -> None:
    host, address = f"127.0.0.1:{asking.client.base_url.port}", asking.address(op)
    way_in = asking.client.headers["authorization"]
    heads = f"HEAD {address} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {way_in}\r\n\r\n"
    last = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"

    with socket.create_connection(("127.0.0.1", asking.client.base_url.port or 0), 20) as raw:
        raw.sendall((heads + last).encode())  # the second one shows that the first has ended
        head, _, rest = b"".join(iter(lambda: raw.recv(65536), b"")).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 ")
    assert f"content-type: {op.media}".encode() in head
    assert rest.startswith(b"HTTP/1.1 200 ")
    assert rest.endswith(b'{"status":"ok"}')


@walk("match", ['"0-0"', '"nonsense"', "", "7", '"1-2", "3-4"'])
@walk("op", WITH_VERSION, ids=name)
def test_a_stale_change_returns_412_with_the_current_row(
    asking: Asking, op: Operation, match: str
) -> None:
    address = asking.address(op)
    row = asking.client.get(row_of(address))

    answer = asking.ask(op, address=address, headers={"If-Match": match})

    assert kept(problem(answer, 412)["current"]) == kept(row.json())
    assert answer.headers["etag"] == row.headers["etag"]
    assert kept(asking.client.get(row_of(address)).json()) == kept(row.json())


@walk("op", WITH_VERSION, ids=name)
def test_a_change_with_the_current_version_is_accepted(asking: Asking, op: Operation) -> None:
    address = asking.address(op)
    tag = asking.client.get(row_of(address)).headers["etag"]

    assert asking.ask(op, address=address, headers={"If-Match": tag}).status_code == op.status


def test_the_openapi_document_covers_every_route_and_every_reference_resolves(
    asking: Asking,
) -> None:
    told = asking.client.get("/api/openapi.json").json()

    assert told["openapi"].startswith("3.1.")
    assert {(method.upper(), path) for path, item in told["paths"].items() for method in item} == {
        (op.method, op.path.replace(":int", "")) for op in OPS
    }
    refs = set(re.findall(r'"\$ref": ?"([^"]+)"', msgspec.json.encode(told).decode()))
    assert refs
    for ref in refs:
        found = told
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
    operations = [each for item in told["paths"].values() for each in item.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for path, item in told["paths"].items():
        for each in item.values():
            named = {one["name"] for one in each["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert all("schema" in one for one in each["parameters"])


def test_the_api_docs_page_names_every_route(asking: Asking) -> None:
    page = asking.client.get("/api/docs")

    assert page.headers["content-type"].startswith("text/html")
    assert all(op.path.replace(":int", "") in page.text for op in OPS)


def test_a_deprecated_route_is_marked_and_names_its_replacement(asking: Asking) -> None:
    paths = asking.client.get("/api/openapi.json").json()["paths"]

    found = {
        f"{method.upper()} {path.removeprefix('/api/v1')}": each["summary"]
        for path, item in paths.items()
        for method, each in item.items()
        if each.get("deprecated")
    }
    assert found == {
        "GET /memories/{id}/grounds": "Deprecated: use `/api/v1/memories/{id}/evidence`.",
        "PUT /markers/{id}/taken": "Deprecated: use `/api/v1/markers/{id}/accepted`.",
        "PUT /escalations/{id}/settled": "Deprecated: use `/api/v1/escalations/{id}/handled`.",
        "GET /services/{name}/looks": ("Deprecated: use `/api/v1/services/{name}/checks/results`."),
        "POST /health/looks": "Deprecated: use `/api/v1/health/checks`.",
    }


def test_a_deprecated_route_returns_the_same_as_its_replacement(asking: Asking) -> None:
    memory = f"/api/v1/memories/{asking.memory()}"
    pairs = [
        (f"{memory}/grounds", f"{memory}/evidence"),
        ("/api/v1/services/jellyfin/looks", "/api/v1/services/jellyfin/checks/results"),
    ]

    for old, new in pairs:
        answers = [asking.client.get(path) for path in (old, new)]
        assert [each.status_code for each in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()


def test_every_module_that_declares_a_route_is_in_the_route_table() -> None:
    package = Path(lamplighter.__file__).parent
    declaring = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for path in (package / "api").rglob("*.py")
        if "@operation(" in path.read_text()
    }

    assert declaring == {op.ask.__module__ for op in OPS}
