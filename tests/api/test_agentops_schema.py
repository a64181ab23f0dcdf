"""The contract of AgentOps and its description are one, on both of its mounts."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from lamplighter.api.agentops.openapi import openapi
from lamplighter.api.agentops.table import PREFIX
from living import Home
from memory_service import MemoryService
from postgres_server import PostgresServer

EACH = 10
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]
bounded = settings(
    max_examples=EACH,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
strict = schemathesis.openapi.from_dict(openapi(prefix=PREFIX, strict=True, tokens=False))
lenient = schemathesis.openapi.from_dict(openapi(prefix="", strict=False, tokens=False))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryService]:
    """Start a memory service on a database of either kind."""
    more = {}
    if request.param == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        more["LAMPLIGHTER_DATABASE_URL"] = postgres.create("contract", "migrated")
    started = MemoryService(Home(tmp_path_factory.mktemp("contract") / "home", more))
    yield started
    started.kill()


@strict.parametrize()
@bounded
def test_no_strict_answer_differs_from_the_description(
    case: schemathesis.Case, service: MemoryService
) -> None:
    response = case.call(base_url=service.url, timeout=20)

    case.validate_response(response, checks=CHECKS)


@lenient.parametrize()
@bounded
def test_no_lenient_answer_differs_from_the_description(
    case: schemathesis.Case, service: MemoryService
) -> None:
    response = case.call(base_url=service.url, timeout=20)

    case.validate_response(response, checks=CHECKS)


def test_it_has_met_nothing_it_did_not_expect(service: MemoryService) -> None:
    assert "Traceback" not in service.log
    assert "failed" not in service.log
