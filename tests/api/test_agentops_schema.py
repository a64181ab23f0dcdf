"""The AgentOps API matches its schema, on both of its mounts."""

from collections.abc import Iterator

import pytest
import schemathesis
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from schemathesis.schemas import BaseSchema

from edge_cases import examine, left_out, operations
from lamplighter.api.agentops.openapi import openapi
from lamplighter.api.agentops.routes import PREFIX
from living import Home
from memory_service import MemoryService
from postgres_server import PostgresServer
from thorough import examples

EACH = examples(16, part=8)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]
STRICT = schemathesis.openapi.from_dict(openapi(prefix=PREFIX, strict=True, tokens=False))
LENIENT = schemathesis.openapi.from_dict(openapi(prefix="", strict=False, tokens=False))


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryService]:
    started = MemoryService(Home(tmp_path_factory.mktemp("strict") / "home"))
    yield started
    ended(started)


@pytest.fixture(scope="module")
def on_postgres(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryService]:
    postgres.drop("contract")  # work that is shared out anew may come back to this server
    more = {"LAMPLIGHTER_DATABASE_URL": postgres.create("contract", "migrated")}
    started = MemoryService(Home(tmp_path_factory.mktemp("lenient") / "home", more))
    yield started
    ended(started)


def ended(service: MemoryService) -> None:
    """Stop a service whose log shows no unexpected error."""
    service.kill()
    assert "Traceback" not in service.log
    assert "failed" not in service.log


def differs_nowhere(schema: BaseSchema, operation: str, service: MemoryService) -> None:
    def ask(case: schemathesis.Case) -> None:
        if not left_out(case):
            case.validate_response(case.call(base_url=service.url, timeout=20), checks=CHECKS)

    examine(schema, operation, EACH, ask)


@pytest.mark.parametrize("operation", operations(STRICT))
def test_responses_of_the_web_process_match_the_openapi_document(
    operation: str, on_sqlite: MemoryService
) -> None:
    differs_nowhere(STRICT, operation, on_sqlite)


@pytest.mark.parametrize("operation", operations(LENIENT))
def test_responses_of_the_memory_service_match_the_openapi_document(
    operation: str, on_postgres: MemoryService
) -> None:
    differs_nowhere(LENIENT, operation, on_postgres)
