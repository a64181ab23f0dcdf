"""OpenAPI 3.1 of this contract, made from the same list and shapes as its routes."""

import re
from functools import cache
from typing import Any, Final

import msgspec

from lamplighter import __version__
from lamplighter.api.agentops import shapes
from lamplighter.api.agentops.contract import AgentOpsOperation
from lamplighter.api.agentops.routes import OPERATIONS

DOCUMENT: Final = "/openapi.json"
_REF: Final = "#/components/schemas/{name}"
_PART: Final = re.compile(r"\{(\w+)(:path)?\}")
_SCHEME: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "lamp_<id>_<secret>, as `lamplighter token create` prints it.",
    }
}
_JSON: Final = "application/json"


@cache
def openapi(*, prefix: str, strict: bool, tokens: bool) -> dict[str, Any]:
    """Return the OpenAPI description of a mount; `tokens` states that requests need a token."""
    forms = [
        form
        for each in OPERATIONS
        for form in (each.body, each.query, each.gives, each.gives_lenient)
        if form
    ]
    kinds = list(dict.fromkeys([*forms, shapes.AgentOpsFailure]))
    _, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    for each in OPERATIONS if strict else ():
        if each.body and each.needs:
            components[each.body.__name__] = _with_required(
                components[each.body.__name__], each.needs
            )
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        path = prefix + each.path.replace(":path", "")
        known = paths.setdefault(path, {})
        known[each.method.lower()] = _operation(each, components, strict=strict, tokens=tokens)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lamplighter: the memory service of AgentOps",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SCHEME},
    }


def _with_required(schema: dict[str, Any], needs: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a body with the fields that the strict mount requires, and not blank."""
    properties = dict(schema["properties"])
    for name in needs:
        text = next(each for each in properties[name]["anyOf"] if each.get("type") == "string")
        properties[name] = {**text, "pattern": r"\S"}
    return {**schema, "properties": properties, "required": list(needs)}


def _operation(
    each: AgentOpsOperation, components: dict[str, Any], *, strict: bool, tokens: bool
) -> dict[str, Any]:
    words = re.sub("[^a-zA-Z]+", "_", each.path.replace(":path", ""))
    operation: dict[str, Any] = {
        "operationId": f"{each.method.lower()}{words}",
        "summary": each.about,
        "parameters": _parameters(each, components),
        "responses": _responses(each, strict=strict, tokens=tokens),
        "security": [{"token": [each.scope]}] if tokens and each.scope else [],
    }
    if each.body:
        schema = {"$ref": _REF.format(name=each.body.__name__)}
        needed = bool(each.needs)
        operation["requestBody"] = {"required": needed, "content": {_JSON: {"schema": schema}}}
    return operation


def _parameters(each: AgentOpsOperation, components: dict[str, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    for name, path in _PART.findall(each.path):
        text = {"type": "string", "minLength": 1, "maxLength": 200}
        number = {"type": "integer", "minimum": 0, "maximum": 2**53}
        schema = text if path else number
        parameters.append({"name": name, "in": "path", "required": True, "schema": schema})
    if each.query:
        for name, schema in components[each.query.__name__]["properties"].items():
            parameters.append({"name": name, "in": "query", "required": False, "schema": schema})
    return parameters


def _responses(each: AgentOpsOperation, *, strict: bool, tokens: bool) -> dict[str, Any]:
    gives = each.gives if strict or each.gives_lenient is None else each.gives_lenient
    status = each.status if strict or each.status_lenient is None else each.status_lenient
    good: dict[str, Any] = {"description": each.about}
    if gives is not None:
        schema: dict[str, Any] = {"$ref": _REF.format(name=gives.__name__)}
        if each.is_list and gives is each.gives:
            schema = {"type": "array", "items": schema}
        good["content"] = {_JSON: {"schema": schema}}
    failed = {"$ref": _REF.format(name=shapes.AgentOpsFailure.__name__)}
    wrong = {"description": "The error.", "content": {_JSON: {"schema": failed}}}
    statuses = {403, 503, *each.problems}
    statuses |= {507} if each.method != "GET" else set()
    statuses |= {401} if each.scope and tokens else set()
    statuses |= {400, 414} if each.query else set()
    statuses |= {400, 415} if each.body else set()
    return {str(status): good, **{str(status): wrong for status in sorted(statuses)}}
