"""What is asked by this contract: read as theirs does, but every wrong field is named at once."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lamplighter.api.agentops.contract import is_strict
from lamplighter.api.words import in_words
from lamplighter.domain.errors import Invalid, Wrong

S = TypeVar("S", bound=msgspec.Struct)

CUTS: Final = {"title": 500, "content": 50_000}
CUT: Final = "... [truncated]"
MOST: Final = 1_000
DIGITS: Final = 18


async def body(request: Request, form: type[S], needs: tuple[str, ...] = ()) -> S:
    """Read a JSON body; what it names besides is passed over, and null is as if it were not there.

    415, 400, or Invalid with every wrong field; `needs` are wanted on the strict mount,
    `always` on both. The lenient one cuts what is too long.
    """
    given = await decoded(request)
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(form)}
    found = {name: given[name] for name in fields if given.get(name) is not None}
    if not is_strict(request):
        found = {name: _cut(name, value) for name, value in found.items()}
    wrong = [Wrong(name, "is required") for name in needs if _blank(found.get(name))]
    return _read(form, found, wrong)


async def decoded(request: Request) -> dict[str, Any]:
    """Return the JSON object of a body, an empty one for no body at all."""
    content = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not content and not kind:
        return {}
    if kind != "application/json":
        raise HTTPException(415, "The body is to be JSON with the content type application/json.")
    try:
        given = msgspec.json.decode(content)
    except RecursionError as error:
        raise HTTPException(400, "invalid JSON: nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"invalid JSON: {error}") from error
    if not isinstance(given, dict):
        raise HTTPException(400, "invalid JSON: the body is not an object")
    return given


def query(request: Request, form: type[S]) -> S:
    """Read the query: what is unknown is passed over, of what is repeated the first counts.

    A wrong value is named on the strict mount, and as if it were not there on the other.
    """
    wrong: list[Wrong] = []
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(form):
        given = next(iter(request.query_params.getlist(field.encode_name)), "")
        if not given:
            continue
        try:
            values[field.name] = msgspec.convert(given, field.type, strict=False)
        except msgspec.ValidationError as error:
            wrong.append(Wrong(field.encode_name, in_words(str(error), field.type)))
    if wrong and is_strict(request):
        raise Invalid(*wrong)
    return form(**values)


def number(request: Request) -> int:
    """Return the number of the path; 400 when it is none, 404 when no row can have it."""
    given = request.path_params["id"]
    if not given.isascii() or not given.removeprefix("-").isdigit():
        raise HTTPException(400, f"invalid id: {given[:100]!r} is not a number")
    if len(given) > DIGITS:
        raise HTTPException(404, "There is nothing with so large a number.")
    return int(given)


def limited(given: int | None, usual: int, most: int = MOST) -> int:
    """Return how many are wanted: the usual number for none, and never very many."""
    return usual if given is None or given < 1 else min(given, most)


def required(**given: str | None) -> None:
    """See to what no mount can do without; raises Invalid naming all that is missing."""
    wrong = [Wrong(name, "is required") for name, value in given.items() if _blank(value)]
    if wrong:
        raise Invalid(*wrong)


def _read(form: type[S], given: Mapping[str, Any], wrong: list[Wrong]) -> S:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(form):
        if field.encode_name not in given:
            continue
        try:
            values[field.name] = msgspec.convert(given[field.encode_name], field.type, strict=True)
        except msgspec.ValidationError as error:
            wrong.append(Wrong(field.encode_name, in_words(str(error), field.type)))
    if wrong:
        raise Invalid(*wrong)
    return form(**values)


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _cut(name: str, value: Any) -> Any:
    most = CUTS.get(name)
    if most is None or not isinstance(value, str) or len(value) <= most:
        return value
    return value[: most - len(CUT)] + CUT
