"""The API matches its schema: requests generated from the schema find no difference."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import schemathesis
from schemathesis.checks import (
    content_type_conformance,
    negative_data_rejection,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from edge_cases import examine, left_out, operations
from lamplighter.api.openapi import openapi
from living import Home, Server
from postgres_server import PostgresServer
from thorough import examples

EACH = examples(24, part=12)
# an endless answer, and the two that would end what all the other requests are made with
LEFT_OUT = ("/api/v1/stream", "/api/v1/tokens/{id}", "/api/v1/login")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
SENT = [each for each in CHECKS if each is not negative_data_rejection]
DESCRIBED = schemathesis.openapi.from_dict(openapi()).exclude(path=list(LEFT_OUT))


MAX_BODY_BYTES = 1_000_000


@pytest.fixture(scope="module")
def servers(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Server]]:
    """Start a server on a database of each kind."""
    postgres.drop("described")  # work that is shared out anew may come back to this server
    of_kind = {
        "SQLite": {},
        "PostgreSQL": {"LAMPLIGHTER_DATABASE_URL": postgres.create("described", "migrated")},
    }
    started = {}
    for kind, more in of_kind.items():
        more["LAMPLIGHTER_WEBHOOK_TOKEN"] = "what-monitors-show"
        started[kind] = Server(Home(tmp_path_factory.mktemp("described") / "home", more))
    yield started
    for server in started.values():
        server.kill()


@pytest.mark.parametrize("operation", operations(DESCRIBED))
def test_responses_match_the_openapi_document(operation: str, servers: dict[str, Server]) -> None:
    def ask(case: schemathesis.Case) -> None:
        if left_out(case):
            return
        for kind, server in servers.items():
            try:
                validate(case, server)
            except BaseException as error:
                error.add_note(f"on {kind}")
                raise

    examine(DESCRIBED, operation, EACH, ask)


def validate(case: schemathesis.Case, server: Server) -> None:
    """Send a case to a server, and compare the answer with the description."""
    response = case.call(base_url=server.url, headers=server.headers, timeout=20)

    checks = CHECKS if sent(case, response) else SENT
    body = response.request.body or b""
    too_large = response.status_code == 413 and len(body) > MAX_BODY_BYTES
    if too_large or response.status_code == 414:  # so long a request is refused unread
        checks = [not_a_server_error, content_type_conformance]
    case.validate_response(response, checks=checks)


def sent(case: schemathesis.Case, response: schemathesis.Response) -> bool:
    """Whether the request contains all generated values: an empty list leaves nothing behind."""
    asked = parse_qs(urlsplit(response.request.url or "").query, keep_blank_values=True)
    return set(case.query or {}) <= set(asked)


def test_earlier_names_of_parameters_are_marked_deprecated() -> None:
    paths = openapi()["paths"]

    found = {
        each["name"]
        for path in paths.values()
        for op in path.values()
        for each in op.get("parameters", ())
        if each.get("deprecated")
    }
    assert found == {"without", "against", "same"}
