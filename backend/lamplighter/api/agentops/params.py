"""Parameters of this contract: as lenient as the original, but an error names every wrong field."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lamplighter.api.access.callers import caller_of
from lamplighter.api.agentops.contract import is_strict
from lamplighter.api.messages import explain_error
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import PROJECT_CHARS

Title = Annotated[str, Meta(max_length=500)]
Content = Annotated[str, Meta(max_length=50_000)]
Project = Annotated[str, Meta(max_length=PROJECT_CHARS)]
Word = Annotated[str, Meta(max_length=50)]
Key = Annotated[str, Meta(max_length=200)]
Tag = Annotated[str, Meta(max_length=100)]
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Tags = Annotated[list[Tag], Meta(max_length=20)]
SessionId = Annotated[str, Meta(max_length=200)]


class AgentOpsSessionIn(Struct):
    """A session that begins."""

    id: SessionId | None = None
    project: Project | None = None
    directory: str | None = None


class MessageIn(Struct):
    """One message of a transcript; other fields are ignored."""

    role: str = ""
    content: Any = ""


class EndIn(Struct):
    """The end of a session: its transcript (AgentOps), or its summary (engram)."""

    messages: list[MessageIn] | None = None
    summary: str | None = None


class ObservationIn(Struct):
    """An observation to store."""

    session_id: SessionId | None = None
    type: Word | None = None
    title: Title | None = None
    content: Content | None = None
    project: Project | None = None
    tags: Tags | None = None
    scope: Word | None = None
    topic_key: Key | None = None
    tool_name: str | None = None


class ObservationEdit(Struct):
    """Changes to an observation."""

    type: Word | None = None
    title: Title | None = None
    content: Content | None = None
    tags: Tags | None = None
    scope: Word | None = None
    topic_key: Key | None = None
    project: Project | None = None


class PassiveIn(Struct):
    """A report that may list learnings."""

    session_id: SessionId | None = None
    content: str | None = None
    project: Project | None = None
    source: str | None = None


class PromptIn(Struct):
    """A user prompt."""

    session_id: SessionId | None = None
    content: str | None = None
    project: Project | None = None


class TopicIn(Struct):
    """The input for a suggested topic key."""

    type: str | None = None
    title: str | None = None
    content: str | None = None


class ImportIn(Struct):
    """An export of AgentOps' memory service, or of engram."""

    sessions: list[dict[str, Any]] | None = None
    observations: list[dict[str, Any]] | None = None
    prompts: list[dict[str, Any]] | None = None


class MigrateIn(Struct):
    """Two names of one project."""

    old_project: Project | None = None
    new_project: Project | None = None


class ListQuery(Struct):
    """Filters of a list."""

    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0
    sort: str = ""


class AgentOpsSearchQuery(Struct):
    """A search."""

    q: str = ""
    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0


class AgentOpsContextQuery(Struct):
    """The task that a client needs context for."""

    project: str = ""
    query: str = ""
    limit: int | None = None
    budget: int | None = None
    max_bytes: int | None = None
    session_id: str = ""


class TimelineQuery(Struct):
    """Around which observation, and how far."""

    observation_id: Number | None = None
    before: int | None = None
    after: int | None = None


class ProjectQuery(Struct):
    """The project; empty for all projects."""

    project: str = ""


class DeleteQuery(Struct):
    """Whether it is to be removed for good."""

    hard: bool = False


class DirectoryQuery(Struct):
    """In which directory a client works."""

    cwd: str = ""


S = TypeVar("S", bound=msgspec.Struct)

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


async def body(request: Request, form: type[S], needs: tuple[str, ...] = ()) -> S:
    """Read a JSON body; unknown fields are ignored, and null equals a missing field.

    Raises 415, 400, or Invalid with every wrong field. `needs` are required on the strict mount,
    `always` on both. The lenient mount truncates values that are too long.
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


def query(request: Request, form: type[S]) -> S:
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
    if not query(request, DeleteQuery).hard:
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
