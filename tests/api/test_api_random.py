"""Random requests to every route: each response is one that the schema documents."""

from typing import Any

import httpx2
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from route_requests import Asking, name, numbered

from lamplighter.api.openapi import openapi
from lamplighter.api.routes import OPS, Operation

EACH = 8
ids = st.sampled_from(["0", "1", "2", "7", "007", str(2**63 - 1), str(2**64)])
words = st.text(max_size=20) | st.sampled_from(
    ["timing", "general", "jellyfin", "delete", "1", "0.5", "true", "null", "%", "NUL\0", "2026"]
)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "If-Match": st.sampled_from(["*", '"1-1"', 'W/"1-1"', '"1-99999999999999999999"', "x"]),
        "Last-Event-ID": st.sampled_from(["0", "5", "99999999", "x", "-1"]),
        "Accept": st.sampled_from(["*/*", "text/html"]),
        "Origin": st.sampled_from(["null", "http://127.0.0.1"]),
    },
)


def names_of(form: type[msgspec.Struct] | None) -> list[str]:
    known = [field.encode_name for field in msgspec.structs.fields(form)] if form else []
    return [*known, "nonsense"]


def allowed(op: Operation) -> set[int]:
    path = openapi()["paths"][op.path.replace(":int", "")]
    return {int(status) for status in path[op.method.lower()]["responses"]}


@pytest.mark.parametrize("op", OPS, ids=name)
def test_random_requests_return_a_documented_status(asking: Asking, op: Operation) -> None:
    told = allowed(op)

    @settings(
        max_examples=EACH,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        query = data.draw(st.dictionaries(st.sampled_from(names_of(op.query)), words, max_size=3))
        more: dict[str, Any] = {"params": query, "headers": data.draw(headers)}
        address = numbered(op.path, data.draw(ids))
        if op.body:
            fields = st.sampled_from(names_of(op.body))
            body = data.draw(st.dictionaries(fields, values, max_size=6) | values)
            more["content"] = msgspec.json.encode(body)
            more["headers"] = {"Content-Type": "application/json", **more["headers"]}

        try:
            answer = asking.ask(op, address=address, **more)
        except httpx2.HTTPError as error:
            raise AssertionError("no answer came") from error

        assert answer.status_code in told, answer.text
        assert answer.status_code != 503, answer.text

    ask()


def test_the_server_log_contains_no_traceback_or_failure(asking: Asking) -> None:
    log = (asking.home.path / "web.log").read_text()

    assert "Traceback" not in log
    assert "failed" not in log
