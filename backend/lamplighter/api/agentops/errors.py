"""Errors in the form of existing clients: `{"error": "..."}`, with further fields."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from lamplighter.api.op import Handler
from lamplighter.api.responses import (
    ACT,
    INTERNAL_ERROR,
    answer,
    describe_database_error,
    status_title,
)
from lamplighter.domain.errors import Conflict, Invalid, InvalidField, LamplighterError, NotFound
from lamplighter.repository.store.driver import OperationalError
from lamplighter.usecases.access.recording import recorded, unfinished

logger = logging.getLogger(__name__)

FIELD_NAMES: Final = {"observation": "content", "category": "type", "external_id": "id"}
"""Our names of fields, as this contract calls them."""

STATUSES: Final = {413: 400, 422: 400}
"""Both services with this contract answer 400 if a value is too large or invalid."""


def with_contract_errors(handler: Handler) -> Handler:
    """Wrap a handler to report errors in the form of this contract."""

    async def asked(request: Request) -> Response:
        recorded.set(None)
        unfinished.set(None)
        try:
            response = await handler(request)
            if (act := recorded.get()) is not None:
                response.headers[ACT] = str(act)
            return response
        except HTTPException as error:
            return failure(error.status_code, error.detail, headers=error.headers)
        except LamplighterError as error:
            return _domain_failure(error)
        except (OperationalError, TimeoutError) as error:
            logger.warning("Database error at %s: %s", request.url.path, error)
            act = unfinished.get()
            status, detail, headers = describe_database_error(error, act)
            return failure(status, detail, headers=headers if act is None else {ACT: str(act)})
        except ClientDisconnect:
            raise  # the guard handles a disconnect
        except Exception as error:
            logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
            return failure(500, INTERNAL_ERROR)

    return asked


def failure(
    status: int,
    detail: str,
    *,
    wrong: Sequence[InvalidField] = (),
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return an error response."""
    status = STATUSES.get(status, status)
    named = [{"field": FIELD_NAMES.get(w.field, w.field), "message": w.message} for w in wrong]
    said = "; ".join(f"{each['field']} {each['message']}" for each in named)
    words = f"validation failed: {said}" if named else detail
    body = {
        "error": words,
        "title": status_title(status),
        "status": status,
        "detail": words,
        "errors": named,
        **more,
    }
    return answer(body, status, headers=headers)


def translate_problem(problem: Response) -> Response:
    """Return a problem in the form of this contract."""
    body, headers = msgspec.json.decode(problem.body), dict(problem.headers)
    del headers["content-type"], headers["content-length"]
    return failure(problem.status_code, body["detail"] or body["title"], headers=headers)


def _domain_failure(error: LamplighterError) -> Response:
    if isinstance(error, Invalid):
        return failure(400, str(error), wrong=error.wrong)
    if isinstance(error, NotFound):
        return failure(404, str(error))
    if isinstance(error, Conflict):
        return failure(409, str(error), code="conflict")
    return failure(503, str(error), headers={"Retry-After": "5"})
