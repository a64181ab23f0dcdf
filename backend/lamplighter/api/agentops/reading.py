"""What is asked by this contract: read as theirs does, but every wrong field is named at once."""

import re
from collections.abc import Mapping
from contextlib import suppress
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
JSON: Final = "application/json"
PAGES: Final = ("origin", "referer", "cookie", "sec-fetch-site")
"""What a browser says of the page that asks; a program says none of it."""

_ESCAPED: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


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
    """Return the JSON object of a body, an empty one for no body at all.

    A program need not say that it is JSON, as theirs does not ask; a page has to, for
    what it says so only after it was given leave.
    """
    content = await request.body()
    if not content:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and any(each in request.headers for each in PAGES):
        raise HTTPException(415, f"The body is to be JSON with the content type {JSON}.")
    given = _json(content)
    if not isinstance(given, dict):
        raise HTTPException(400, "invalid JSON: the body is not an object")
    return given


def query(request: Request, form: type[S]) -> S:
    """Read the query: what is unknown is passed over, of what is repeated the first counts.

    A wrong value is as if it were not there: so both services read `limit=abc`.
    """
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(form):
        given = next(iter(request.query_params.getlist(field.encode_name)), "")
        if not given:
            continue
        with suppress(msgspec.ValidationError):
            values[field.name] = msgspec.convert(given, field.type, strict=False)
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


def _json(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except RecursionError as error:
        raise HTTPException(400, "invalid JSON: nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        with suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(_whole(content))
        raise HTTPException(400, f"invalid JSON: {error}") from error


def _whole(content: bytes) -> str:
    """Return JSON in which what is no character is one: texts are cut amid an emoji.

    Bytes that are no UTF-8, and halves of a pair of surrogates.
    """
    text = content.decode("utf-8", "replace")
    return _ESCAPED.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


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
