"""A JMESPath expression of an HTTP check against the body of an answer."""

from typing import Any, Final

import jmespath
import msgspec
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from lamplighter.engines.probe.text import harmless, inline

VALUE_CHARS: Final = 100
_COMBINED: Final = ("and_expression", "or_expression")
Node = dict[str, Any]


def query_problem(expression: str, body: bytes) -> str:
    """Return why an expression is not true of a body, with its value; empty if it is true."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return "the response is not JSON"
    query = jmespath.compile(expression)
    try:
        result = query.search(value)
        if result is True:
            return ""
        found = _compared(query.parsed, value)
    except (JMESPathError, RecursionError) as error:
        return inline(f"{expression} failed: {harmless(str(error))}")
    if result is False:
        return f"{inline(expression)} is false: found {_quote(found)}"
    return f"{inline(expression)} is {_quote(result)}, not true"


def _compared(node: Node, value: Any) -> Any:
    """Return the value on the left of the comparison that decided against the expression."""
    if node["type"] in _COMBINED:
        sides = (each for each in node["children"] if _evaluate(each, value) is not True)
        return _compared(next(sides, node["children"][0]), value)
    if node["type"] in ("comparator", "not_expression"):
        return _evaluate(node["children"][0], value)
    return _evaluate(node, value)


def _evaluate(node: Node, value: Any) -> Any:
    return TreeInterpreter().visit(node, value)


def _quote(value: Any) -> str:
    """Return a value as JSON in one harmless line."""
    return harmless(msgspec.json.encode(value).decode(errors="replace"), VALUE_CHARS)
