"""OpenAPI 3.1, made from the same list and shapes as the routes."""

import html
import re
from functools import cache
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from lamplighter import __version__
from lamplighter.api import common_shapes, params
from lamplighter.api.op import V1
from lamplighter.api.responses import PROBLEM, answer
from lamplighter.api.routes import OPS, Operation

_REF: Final = "#/components/schemas/{name}"
_IN_PATH: Final = re.compile(r"\{(\w+)(:int)?\}")
_SCHEMES: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "lamp_<id>_<secret>, as `lamplighter token create` prints it.",
    },
    "login": {
        "type": "apiKey",
        "in": "cookie",
        "name": "lamplighter-<port>",
        "description": "A browser login; changes require a request from Lamplighter's own pages.",
    },
}
_ID: Final = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}


async def document(request: Request) -> Response:
    """GET /api/openapi.json."""
    return answer(openapi())


async def docs(request: Request) -> Response:
    """GET /api/docs: the same as a page to read."""
    return HTMLResponse(_page())


@cache
def openapi() -> dict[str, Any]:
    """Return the whole description."""
    forms = [form for op in OPS for form in (op.body, op.query, op.gives, *op.or_gives) if form]
    kinds = list(dict.fromkeys([*forms, common_shapes.Problem]))
    _, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for op in OPS:
        path = op.path.replace(":int", "")
        paths.setdefault(path, {})[op.method.lower()] = _operation(op, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lamplighter",
            "version": __version__,
            "description": "Errors are application/problem+json and list every invalid field.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SCHEMES},
    }


def _operation(op: Operation, components: dict[str, Any]) -> dict[str, Any]:
    words = re.sub("[^a-zA-Z]+", "_", op.path.replace(":int", ""))
    operation: dict[str, Any] = {
        "operationId": f"{op.method.lower()}{words}",
        "summary": op.about,
        "parameters": _parameters(op, components),
        "responses": _responses(op),
        "security": [] if op.scope is None else [{"token": [op.scope]}, {"login": []}],
    }
    if op.body:
        schema = {"$ref": _REF.format(name=op.body.__name__)}
        content = {"application/json": {"schema": schema}}
        required = not issubclass(op.body, common_shapes.OptionalBody)
        operation["requestBody"] = {"required": required, "content": content}
    if op.deprecated:
        operation["deprecated"] = True
    return operation


def _parameters(op: Operation, components: dict[str, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    for name, kind in _IN_PATH.findall(op.path):
        schema = _ID if kind else {"type": "string"}
        parameters.append({"name": name, "in": "path", "required": True, "schema": schema})
    if op.query:
        form = components[op.query.__name__]
        for name, schema in form["properties"].items():
            parameters.append({"name": name, "in": "query", "required": False, "schema": schema})
        for old, new in params.deprecated_names(op.query).items():
            about = f"The earlier name of `{new}`."
            parameters.append(
                {
                    "name": old,
                    "in": "query",
                    "required": False,
                    "deprecated": True,
                    "description": about,
                    "schema": form["properties"][new],
                }
            )
    if op.matches:
        about = "The expected version, from the ETag."
        schema = {"type": "string"}
        parameters.append(
            {"name": "If-Match", "in": "header", "description": about, "schema": schema}
        )
    return parameters


def _responses(op: Operation) -> dict[str, Any]:
    good: dict[str, Any] = {"description": op.about}
    if op.gives:
        refs = [{"$ref": _REF.format(name=each.__name__)} for each in (op.gives, *op.or_gives)]
        schema: dict[str, Any] = {"anyOf": refs} if op.or_gives else refs[0]
        good["content"] = {op.media: {"schema": schema}}
    elif op.status == 200:
        good["content"] = {op.media: {"schema": {"type": "string"}}}
    wrong = {"description": "The error.", "content": _problem_content()}
    statuses = {403, 503, *op.problems}
    statuses |= {507} if op.method != "GET" else set()
    statuses |= set() if op.scope is None else {401}
    statuses |= {404} if "{" in op.path else set()
    statuses |= {412} if op.matches else set()
    if op.query:
        statuses.add(414)
    if op.query or op.body or (op.method == "GET" and op.path.startswith(V1)):
        statuses.add(422)
    if op.body:
        statuses |= {400, 413, 415}
    return {str(op.status): good, **{str(status): wrong for status in sorted(statuses)}}


def _problem_content() -> dict[str, Any]:
    return {PROBLEM: {"schema": {"$ref": _REF.format(name="Problem")}}}


@cache
def _page() -> str:
    rows = "".join(
        f"<tr><td><code>{op.method}</code></td><td><code>{html.escape(_readable(op))}</code></td>"
        f"<td>{html.escape(op.about)}</td><td>{op.scope or 'everybody'}</td></tr>"
        for op in OPS
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Lamplighter API</title></head>'
        "<body><main><h1>Lamplighter API</h1><p>Version "
        f'{__version__}. Full description: <a href="/api/openapi.json">OpenAPI 3.1</a>.</p>'
        "<table><thead><tr><th>Method</th><th>Path</th><th>Purpose</th><th>Scope</th></tr>"
        "</thead>"
        f"<tbody>{rows}</tbody></table></main></body></html>"
    )


def _readable(op: Operation) -> str:
    path = op.path.replace(":int", "")
    names = [field.encode_name for field in msgspec.structs.fields(op.query)] if op.query else []
    return f"{path} ?{' '.join(names)}" if names else path
