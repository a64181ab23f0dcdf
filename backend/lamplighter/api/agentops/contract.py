"""The operations of the contract, and how their requests are read.

Requests are read as leniently as by the original, but an error names every wrong field.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any, Final, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.access.callers import caller_of
from lamplighter.api.agentops.shapes import DeleteQuery
from lamplighter.api.context import service_context
from lamplighter.api.messages import explain_error
from lamplighter.api.op import Operation, ParameterHandler, first_paragraph, parameters_of
from lamplighter.api.responses import answer
from lamplighter.domain.clients.agent import Agent, require_local
from lamplighter.domain.clients.agent import find_agent as named
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.sessions.session import MANUAL_SAVE_PREFIX, Session
from lamplighter.domain.text import normalize_project, one_line
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession

S = TypeVar("S", bound=msgspec.Struct)

DEFAULT_PROJECT: Final = "default"
READ: Final = "knowledge:read"
WRITE: Final = "knowledge:write"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOpsOperation(Operation):
    """An operation of this contract; `needs` lists the fields that the strict mount requires.

    `is_list` states that the response is a list of `gives`. Where the responses of the two mounts
    differ, `gives_lenient` is the response of the lenient mount.
    """

    is_list: bool = False
    gives_lenient: type[msgspec.Struct] | None = None
    status_lenient: int | None = None
    needs: tuple[str, ...] = ()


_DECLARED: dict[str, list[AgentOpsOperation]] = {}


def contract_operation(
    method: str,
    path: str,
    scope: str | None,
    gives: Any,
    *,
    check: Callable[[Request], None] | None = None,
    **more: Any,
) -> Callable[[ParameterHandler], ParameterHandler]:
    """Declare the route that a handler answers; its docstring's first paragraph is `about`.

    After the `check` of the request, the handler gets the parameters that it names, read in their
    order: `request`, `here`, `agent`, its name `by` in the journal, whether the mount is `strict`,
    `query` and `body` by their annotated shapes, whether to delete `hard`, and the `number` of the
    path. A value that is not a response is answered as JSON.
    """

    def declare(handler: ParameterHandler) -> ParameterHandler:
        names, forms = parameters_of(handler)

        @wraps(handler)
        async def ask(request: Request) -> Response:
            if check:
                check(request)
            values: dict[str, Any] = {}
            for name, kind in names.items():
                values[name] = await _parameter(request, name, kind, op.needs)
            found = await handler(**values)
            return found if isinstance(found, Response) else answer(found, op.status)

        op = AgentOpsOperation(
            method=method,
            path=path,
            scope=scope,
            ask=ask,
            about=first_paragraph(handler),
            gives=gives,
            **{**forms, **more},
        )
        _DECLARED.setdefault(handler.__module__, []).append(op)
        return handler

    return declare


async def _parameter(request: Request, name: str, kind: Any, needs: tuple[str, ...]) -> Any:
    if name == "query":
        return read_query(request, kind)
    if name == "body":
        return await read_body(request, kind, needs if is_strict(request) else ())
    return request if name == "request" else _PARAMETERS[name](request)


def declared(module: ModuleType) -> list[AgentOpsOperation]:
    """Return the operations that a module declares, in its order."""
    return _DECLARED[module.__name__]


def is_strict(request: Request) -> bool:
    """Whether a request arrived through the strict mount."""
    return bool(request.state.strict)


def agent_of(request: Request) -> Agent | None:
    """Return the agent of the token; raises Conflict if the knowledge of the agent is elsewhere."""
    name = caller_of(request).agent
    return (
        None if name is None else require_local(named(service_context(request).active.agents, name))
    )


def caller_name(request: Request) -> str:
    """Describe the caller, with its address unless that is this machine."""
    who, host = caller_of(request).label, request.client.host if request.client else ""
    with suppress(ValueError):
        if not ipaddress.ip_address(host).is_loopback:
            return f"{who}, from {host}"
    return who


def project_in(request: Request, text: str | None) -> str | None:
    """Return the project of a request: an agent's own in any case; None for all projects."""
    agent = agent_of(request)
    if agent is not None:
        return normalize_project(agent.reads)
    return normalize_project(one_line(text or "")) or None


async def session_of(request: Request, text: str | None, project: str | None) -> Session:
    """Return the session of a request; an unknown session begins now.

    Without a name it is the session that a project has for requests outside of sessions.
    """
    asked = project_in(request, project) or DEFAULT_PROJECT
    return await start_session(request, one_line(text or "") or MANUAL_SAVE_PREFIX + asked, asked)


async def start_session(
    request: Request, name: str, project: str, directory: str | None = None
) -> Session:
    """Return the session of this name; an unknown session begins now."""
    here, agent = service_context(request), agent_of(request)
    opening = NewSession(
        external_id=name,
        project=project,
        agent=None if agent is None else agent.name,
        token_id=caller_of(request).id or None,
        directory=directory,
    )
    session, _ = await client_sessions.start(here.db, opening, now=here.now())
    return session


MAX_CHARS: Final = {"title": 500, "content": 50_000}
TRUNCATED: Final = "... [truncated]"
MAX_LIMIT: Final = 1_000
DIGITS: Final = 18
DELETE_SCOPE: Final = "memories:write"
JSON: Final = "application/json"
PAGES: Final = ("origin", "referer", "cookie", "sec-fetch-site")
"""Headers by which a browser describes the requesting page; programs send none of them."""

_ESCAPED: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


async def read_body(request: Request, form: type[S], needs: tuple[str, ...] = ()) -> S:
    """Read a JSON body; unknown fields are ignored, and null equals a missing field.

    Raises 415, 400, or Invalid with every wrong field. `needs` are required. The lenient mount
    truncates values that are too long.
    """
    given = await decode_body(request)
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(form)}
    found = {name: given[name] for name in fields if given.get(name) is not None}
    if not is_strict(request):
        found = {name: _cut(name, value) for name, value in found.items()}
    wrong = [InvalidField(name, "is required") for name in needs if _blank(found.get(name))]
    return _read(form, found, wrong)


async def decode_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a body; an empty object for an empty body.

    A program may omit the content type. A web page has to send it, because a browser sends it only
    after a successful preflight request.
    """
    content = await request.body()
    if not content:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and any(each in request.headers for each in PAGES):
        raise HTTPException(415, f"The body must be JSON. Send it with Content-Type: {JSON}.")
    given = _json(content)
    if not isinstance(given, dict):
        raise HTTPException(400, "invalid JSON: the body is not an object")
    return given


def read_query(request: Request, form: type[S]) -> S:
    """Read the query: unknown names are ignored, and the first of repeated values counts.

    A wrong value is ignored: both services with this contract read `limit=abc` in this way.
    """
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(form):
        given = next(iter(request.query_params.getlist(field.encode_name)), "")
        if not given:
            continue
        with suppress(msgspec.ValidationError):
            values[field.name] = msgspec.convert(given, field.type, strict=False)
    return form(**values)


def is_permanent(request: Request) -> bool:
    """Whether to delete permanently; raises 403 for a caller without this right."""
    if not read_query(request, DeleteQuery).hard:
        return False
    if not caller_of(request).may(DELETE_SCOPE):
        raise HTTPException(403, f"Permanent deletion needs a token with the scope {DELETE_SCOPE}.")
    return True


def number(request: Request) -> int:
    """Return the number of the path; 400 when it is none, 404 when no row can have it."""
    given = request.path_params["id"]
    if not given.isascii() or not given.removeprefix("-").isdigit():
        raise HTTPException(400, f"invalid id: {given[:100]!r} is not a number")
    if len(given) > DIGITS:
        raise HTTPException(404, "Not found: the number in the path is too large.")
    return int(given)


def clamp_limit(value: int | None, usual: int, most: int = MAX_LIMIT) -> int:
    """Return the limit of a list: the default for none, and at most the maximum."""
    return usual if value is None or value < 1 else min(value, most)


def check_required(**text: str | None) -> None:
    """Check the fields that every mount requires; raises Invalid naming all missing fields."""
    wrong = [InvalidField(name, "is required") for name, value in text.items() if _blank(value)]
    if wrong:
        raise Invalid(*wrong)


_PARAMETERS: Final[Mapping[str, Callable[[Request], Any]]] = {
    "here": service_context,
    "agent": agent_of,
    "by": caller_name,
    "strict": is_strict,
    "hard": is_permanent,
    "number": number,
}


def _json(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except RecursionError as error:
        raise HTTPException(400, "invalid JSON: nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        with suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(_replace_surrogates(content))
        raise HTTPException(400, f"invalid JSON: {error}") from error


def _replace_surrogates(content: bytes) -> str:
    """Return JSON with invalid characters replaced: clients cut texts inside an emoji.

    Bytes that are no UTF-8, and halves of a pair of surrogates.
    """
    text = content.decode("utf-8", "replace")
    return _ESCAPED.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def _read(form: type[S], parameters: Mapping[str, Any], wrong: list[InvalidField]) -> S:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(form):
        if field.encode_name not in parameters:
            continue
        try:
            values[field.name] = msgspec.convert(
                parameters[field.encode_name], field.type, strict=True
            )
        except msgspec.ValidationError as error:
            wrong.append(InvalidField(field.encode_name, explain_error(str(error), field.type)))
    if wrong:
        raise Invalid(*wrong)
    return form(**values)


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _cut(name: str, value: Any) -> Any:
    most = MAX_CHARS.get(name)
    if most is None or not isinstance(value, str) or len(value) <= most:
        return value
    return value[: most - len(TRUNCATED)] + TRUNCATED
