"""Strict parsing of body, query and path; an error lists every invalid field."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import msgspec
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lamplighter.api.common_shapes import OptionalBody
from lamplighter.api.messages import explain_error
from lamplighter.api.responses import read_cursor
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import HALF_CHARACTER, is_utf8

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

Rules = Callable[[Mapping[str, Any]], list[InvalidField]]
Version = int | None
"""The expected version of a row, -1 for an impossible one; None is any version."""

MAX_ID: Final = 2**63 - 1
MAX_DEPTH: Final = 32
EMPTY: Final = "The body is empty. Send a JSON object."
TOO_DEEP: Final = "The body is nested too deeply."
JSON: Final = "application/json"
DEPRECATED: Final = {"repeats_of": "same", "exclude": "without", "compare_to": "against"}
"""Earlier names of query parameters, which still work."""

_ID_DIGITS: Final = 100


class Number(Convertor[int]):
    """A number of the path. Python refuses to read one of thousands of digits: no row has it."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        """Read a number."""
        return int(value) if len(value) <= _ID_DIGITS else MAX_ID + 1

    def to_string(self, value: int) -> str:
        """Write a number."""
        return str(value)


register_url_convertor("int", Number())


def no_rules(_: Mapping[str, Any]) -> list[InvalidField]:
    """Accept all fields of the right form."""
    return []


async def body(request: Request, form: type[S], also: Rules = no_rules) -> S:
    """Read a JSON body; 415, 400, or Invalid with every wrong field.

    `also` checks the fields of the right form by further rules. It runs also if other fields are
    wrong: the answer names all errors at once.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("", JSON) and issubclass(form, OptionalBody) and not await request.body():
        return form()
    if kind != JSON:
        raise HTTPException(
            415, "The body must be JSON. Send it with Content-Type: application/json."
        )
    return _read(decode_object(await request.body()), form, strict=True, also=also)


def decode_object(
    content: bytes, decode: Callable[[bytes], Any] = msgspec.json.decode
) -> dict[str, Any]:
    """Return the JSON object of a body; raises 400, or Invalid for another value."""
    if not content.strip():
        raise HTTPException(400, EMPTY)
    try:
        payload = decode(content)
    except RecursionError as error:
        raise HTTPException(400, TOO_DEEP) from error
    except ValueError as error:
        reason = _half_characters(content) or error
        raise HTTPException(400, f"The body is not valid JSON: {reason}") from error
    if not isinstance(payload, dict):
        raise Invalid(InvalidField("body", "must be a JSON object"))
    if _is_deep(payload):
        raise HTTPException(400, TOO_DEEP)
    return payload


def _half_characters(content: bytes) -> str:
    """Describe the fields of a body with half a surrogate pair; empty if there is none."""
    with suppress(ValueError, RecursionError):
        payload = json.loads(content)
        if isinstance(payload, dict):
            return "; ".join(
                f"{name.encode('utf-8', 'backslashreplace').decode()}: {HALF_CHARACTER}"
                for name, value in payload.items()
                if not is_utf8(json.dumps([name, value], ensure_ascii=False))
            )
    return ""


def _is_deep(value: dict[str, Any]) -> bool:
    """Whether a value is nested so deeply that functions that recurse into it could fail."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for some in inner for each in some if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def query(request: Request, form: type[S]) -> S:
    """Read the query; Invalid names each parameter that is unknown, repeated or wrong."""
    lists = _lists(form)
    values: dict[str, Any] = {}
    wrong: list[InvalidField] = []
    renamed = deprecated_names(form)
    for sent, value in request.query_params.multi_items():
        name = renamed.get(sent, sent)
        if name in lists:
            values.setdefault(name, []).append(value)
        elif name in values:
            wrong.append(InvalidField(sent, "appears more than once"))
        else:
            values[name] = value
    return _read(values, form, strict=False, wrong=wrong)


@cache
def deprecated_names(form: type[msgspec.Struct]) -> dict[str, str]:
    """Return the parameters of a query by their earlier names."""
    names = {field.encode_name for field in msgspec.structs.fields(form)}
    return {old: new for new, old in DEPRECATED.items() if new in names and old not in names}


def with_sent_names(request: Request, wrong: Sequence[InvalidField]) -> list[InvalidField]:
    """Return the invalid fields of a request, each by the name under which the client sent it."""
    sent = request.query_params
    return [
        replace(each, field=DEPRECATED[each.field])
        if each.field not in sent and DEPRECATED.get(each.field) in sent
        else each
        for each in wrong
    ]


def number(request: Request, name: str = "id") -> int:
    """Return a number of the path; one that no row can have is simply not there."""
    found = int(request.path_params[name])
    if found > MAX_ID:
        raise HTTPException(404, "Not found: the number in the path is too large.")
    return found


def position(cursor: str | None) -> list[Any] | None:
    """Return the position of a cursor; raises Invalid for an invalid one."""
    try:
        return None if cursor is None else read_cursor(cursor)
    except ValueError as error:
        raise Invalid(InvalidField("cursor", str(error))) from error


def part_of(items: Sequence[T], cursor: str | None, limit: int) -> tuple[list[T], list[int] | None]:
    """Return a page of items that are all in memory, and the start of the next page."""
    given = position(cursor)
    begins = [0] if given is None else given
    if len(begins) != 1 or not isinstance(begins[0], int) or begins[0] < 0:
        raise Invalid(InvalidField("cursor", "is not a valid cursor for this list"))
    ends = begins[0] + limit
    return list(items[begins[0] : ends]), [ends] if ends < len(items) else None


def version(request: Request, row_id: int) -> Version:
    """Return the version in If-Match, -1 for an impossible one; None without the header."""
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    found = re.fullmatch(r'(?:W/)?"(\d{1,18})-(\d{1,18})"', given.strip())
    return int(found[2]) if found and int(found[1]) == row_id else -1


def _read(
    parameters: Mapping[str, Any],
    form: type[S],
    *,
    strict: bool,
    wrong: Sequence[InvalidField] = (),
    also: Rules = no_rules,
) -> S:
    problems = list(wrong)
    fields = _fields(form)
    problems += [
        InvalidField(name, "is not a known field") for name in parameters if name not in fields
    ]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in parameters:
            if field.required:
                problems.append(InvalidField(name, "is missing"))
            continue
        try:
            values[field.name] = msgspec.convert(parameters[name], field.type, strict=strict)
        except msgspec.ValidationError as error:
            problems.append(InvalidField(name, explain_error(str(error), field.type)))
    if problems:
        raise Invalid(*problems, *also(values))
    return form(**values)


@cache
def _fields(form: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(form)}


@cache
def _lists(form: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(each.name for each in msgspec.structs.fields(form) if _is_list(each.type))


def _is_list(kind: Any) -> bool:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_origin(kind) in (list, tuple)
