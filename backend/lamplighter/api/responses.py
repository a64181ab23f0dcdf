"""JSON responses, pages with a cursor, and problem responses."""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.domain.errors import InvalidField
from lamplighter.formats import serialize
from lamplighter.repository.store.driver import UnconfirmedCommit, disk_is_full
from lamplighter.usecases.outages import describe_outage

PROBLEM: Final = "application/problem+json"
ACT: Final = "Lamplighter-Act"
"""The header of an answer that names the act of the request: it can be undone by that."""
INTERNAL_ERROR: Final = "Internal error. See the log of the web process."
_TITLES: Final = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    412: "Precondition failed",
    413: "Content too large",
    414: "URI too long",
    415: "Unsupported media type",
    422: "Invalid request",
    428: "Precondition required",
    429: "Too many requests",
    500: "Internal server error",
    503: "Service unavailable",
    507: "Insufficient storage",
}

_encode = msgspec.json.Encoder().encode


def answer(value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(_encode(value), status, media_type="application/json", headers=headers)


def versioned(value: Mapping[str, Any], status: int = 200, **headers: str) -> Response:
    """Answer with one resource and the ETag that changes with each of its versions."""
    return answer(value, status, headers={"ETag": etag(value), **headers})


def etag(value: Mapping[str, Any]) -> str:
    """Return a resource's ETag; a session's also changes when it begins or stops waiting."""
    waits = re.sub(r"\D", "", value.get("waiting_since") or "")
    return f'"{value["id"]}-{value["version"]}{waits and f"-{waits}"}"'


def page(
    request: Request,
    items: Sequence[Any],
    position: Sequence[Any] | None,
    seq: int,
    **more: Any,
) -> Response:
    """Answer with one page of a list: its rows, the next cursor and the feed's number."""
    cursor, headers = next_cursor(position), None
    if cursor is not None:
        query = [*((k, v) for k, v in request.query_params.multi_items() if k != "cursor")]
        link = f"{request.url.path}?{urlencode([*query, ('cursor', cursor)])}"
        headers = {"Link": f'<{link}>; rel="next"'}
    return answer({"items": items, "next": cursor, "seq": seq, **more}, headers=headers)


def problem(
    status: int,
    detail: str = "",
    *,
    wrong: Sequence[InvalidField] = (),
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return a problem response with the errors of each field."""
    body = {
        "type": "about:blank",
        "title": status_title(status),
        "status": status,
        "detail": detail,
        "errors": [{"field": each.field, "message": each.message} for each in wrong],
        **more,
    }
    return Response(_encode(body), status, media_type=PROBLEM, headers=headers)


def unsupported_method(method: str, allowed: Iterable[str]) -> HTTPException:
    """Return the error for a method that a path does not support."""
    names = ", ".join(allowed)
    return HTTPException(
        405, f"{method} is not supported here. Use {names}.", headers={"Allow": names}
    )


def status_title(status: int) -> str:
    """Return the phrase of a status."""
    return _TITLES.get(status, "Error")


def describe_database_error(
    error: BaseException, act: int | None = None
) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, detail and headers of an answer to a request that the database failed.

    `act` is the act that the request had begun; its completed parts remain. `Retry-After` is sent
    only if nothing was changed: a client may repeat the request by itself.
    """
    status = 507 if disk_is_full(error) else 503
    repeatable = status == 503 and act is None and not isinstance(error, UnconfirmedCommit)
    return status, describe_outage(error, act), {"Retry-After": "2"} if repeatable else {}


def next_cursor(position: Sequence[Any] | None) -> str | None:
    """Encode the position of the next page, if there is one."""
    return None if position is None else write_cursor(position)


def write_cursor(position: Sequence[Any]) -> str:
    """Encode a position as an opaque string."""
    parts = [
        {"at": serialize.format_moment(each)} if isinstance(each, datetime) else each
        for each in position
    ]
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read_cursor(word: str) -> list[Any]:
    """Read a position back; ValueError when we did not write it."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))
        if not isinstance(parts, list):
            raise ValueError
        return [_part(part) for part in parts]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError("is not a valid cursor for this list") from error


def _part(part: Any) -> Any:
    if isinstance(part, dict):
        return datetime.fromisoformat(part["at"]).astimezone(UTC)
    if isinstance(part, bool) or not isinstance(part, int | float | str):
        raise TypeError
    if isinstance(part, str):
        part.encode()  # no database stores a lone surrogate
    elif not -(2**63) < part < 2**63:  # no column stores NaN, Infinity or larger numbers
        raise ValueError
    return part
