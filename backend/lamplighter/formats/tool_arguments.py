"""Tool arguments: an object checked against the schema, with errors that a model can act on.

Only the parts of JSON Schema that Lamplighter's schemas use are supported. Harmless deviations are
accepted: null for an optional value, a whole number written as text or with .0, a list written as
text with commas.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import HALF_CHARACTER, is_utf8, one_line, shorten

_QUOTED_CHARS: Final = 60
_NAMED: Final = 5
_WHOLE: Final = re.compile(r"-?[0-9]{1,16}")


def parse_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the declared types; raises Invalid naming each wrong field."""
    fields: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    others = {name: value for name, value in arguments.items() if name not in fields}
    values: dict[str, Any] = dict(others)
    wrong: list[InvalidField] = []
    for name, field in fields.items():
        value = arguments.get(name)
        if value is None:
            if name in schema.get("required", ()):
                wrong.append(InvalidField(name, "is missing"))
            continue
        value = _coerce(field, value)
        problem = _problem(field, value)
        if problem:
            wrong.append(InvalidField(name, problem))
        else:
            values[name] = value
    if schema.get("additionalProperties") is False:
        wrong += _unknown_fields(fields, others)
    if wrong:
        raise Invalid(*wrong)
    return values


def _unknown_fields(fields: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[InvalidField]:
    known = ", ".join(fields) or "nothing"
    for name in list(others)[:_NAMED]:
        yield InvalidField(_quote_text(name), f"is unknown; valid names: {known}")


def _coerce(field: Mapping[str, Any], value: Any) -> Any:
    if field.get("type") == "array" and isinstance(value, str):
        return [each for each in map(str.strip, value.split(",")) if each]
    if field.get("type") != "integer":
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def _problem(field: Mapping[str, Any], value: Any) -> str | None:
    check = _CHECKS.get(field.get("type", ""))
    return check(field, value) if check else None


def _text_problem(field: Mapping[str, Any], value: Any) -> str | None:
    if not isinstance(value, str):
        return f"must be text, not {_kind(value)}"
    if not is_utf8(value):
        return HALF_CHARACTER
    if "enum" in field and value not in field["enum"]:
        return f"is {_quote_text(value)!r}; it is one of {', '.join(field['enum'])}"
    if len(value) > field.get("maxLength", math.inf):
        return f"is longer than {field['maxLength']:,} characters"
    if field.get("minLength") and not one_line(value):
        return "is empty"
    return None


def _number_problem(field: Mapping[str, Any], value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"must be a whole number, not {_kind(value)}"
    least, most = field.get("minimum", -math.inf), field.get("maximum", math.inf)
    if not least <= value <= most:
        return f"must be a whole number from {least:,} to {most:,}"
    return None


def _flag_problem(field: Mapping[str, Any], value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false, not {_kind(value)}"


def _object_problem(field: Mapping[str, Any], value: Any) -> str | None:
    return None if isinstance(value, dict) else f"must be an object, not {_kind(value)}"


def _list_problem(field: Mapping[str, Any], value: Any) -> str | None:
    if not isinstance(value, list):
        return f"must be a list of texts, not {_kind(value)}"
    if len(value) > field["maxItems"]:
        return f"has more than {field['maxItems']} entries"
    problems = (_text_problem(field["items"], each) for each in value)
    return next((f"has an entry that {each}" for each in problems if each), None)


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return f"the text {_quote_text(value)!r}"
        case int():
            return "a whole number"
        case float():
            return "a fraction" if math.isfinite(value) else "NaN or infinity"
        case dict():
            return "an object"
        case list():
            return "a list"
    return f"a {type(value).__name__}"


def _quote_text(text: str) -> str:
    return shorten(one_line(text[: 4 * _QUOTED_CHARS]), _QUOTED_CHARS)


_CHECKS: Final[dict[str, Callable[[Mapping[str, Any], Any], str | None]]] = {
    "string": _text_problem,
    "integer": _number_problem,
    "boolean": _flag_problem,
    "array": _list_problem,
    "object": _object_problem,
}
