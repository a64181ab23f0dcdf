"""The edge cases that schemathesis lists for each operation of an API: `make test` tries a part."""

import schemathesis
from schemathesis.generation.meta import TestPhase

from thorough import tried


def left_out(case: schemathesis.Case) -> bool:
    """Whether this is an edge case that only `make soak` tries."""
    request = (case.method, case.path, case.path_parameters, case.query, case.headers, case.body)
    listed = case.meta is not None and case.meta.phase.name is TestPhase.COVERAGE
    return listed and not tried(*request)
