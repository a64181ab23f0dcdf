"""The operations of an API and their edge cases, of which `make test` tries a part.

A test of an operation creates its cases when it runs: `parametrize` of schemathesis would create
those of all operations in each process that collects the tests.
"""

from collections.abc import Callable

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.generation.meta import TestPhase
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.schemas import BaseSchema

from thorough import tried


def operations(schema: BaseSchema) -> list[str]:
    """Return the operations of an API by their names."""
    return [each.ok().label for each in schema.get_all_operations()]


def examine(
    schema: BaseSchema, operation: str, each: int, ask: Callable[[schemathesis.Case], None]
) -> None:
    """Try this number of examples of an operation, and its edge cases; `ask` raises on failure."""
    bounded = settings(
        max_examples=each,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    only = schema.include(name=operation)
    [made] = get_all_tests(schema=only, test_func=ask, settings=bounded, given_kwargs={})
    _, test = made.ok()
    test()


def left_out(case: schemathesis.Case) -> bool:
    """Whether this is an edge case that only `make soak` tries."""
    request = (case.method, case.path, case.path_parameters, case.query, case.headers, case.body)
    listed = case.meta is not None and case.meta.phase.name is TestPhase.COVERAGE
    return listed and not tried(*request)
