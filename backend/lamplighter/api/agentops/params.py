"""What is asked by this contract: read as theirs does, but every wrong field is named at once."""

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
    """An observation to keep."""

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
    """A report that may list what was learned."""

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
    """What a topic key is wanted for."""

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
    """Which rows are asked for."""

    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0
    sort: str = ""


class AgentOpsSearchQuery(Struct):
    """What is looked for."""

    q: str = ""
    project: str = ""
    type: str = ""
    scope: str = ""
    limit: int = 0


class AgentOpsContextQuery(Struct):
    """What a client is about to do."""

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
    """Of which project; none asks for all."""

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
    given = await decode_body(request)
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(form)}
    found = {name: given[name] for name in fields if given.get(name) is not None}
    if not is_strict(request):
        found = {name: _cut(name, value) for name, value in found.items()}
    wrong = [InvalidField(name, "is required") for name in needs if _blank(found.get(name))]
    return _read(form, found, wrong)


async def decode_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a body, an empty one for no body at all.

    A program need not say that it is JSON, as theirs does not ask; a page has to, for
    what it says so only after it was given leave.
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


def is_permanent(request: Request) -> bool:
    """Whether something is to be removed for good; raises 403 for who may not."""
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
    """Return how many are wanted: the usual number for none, and never very many."""
    return usual if value is None or value < 1 else min(value, most)


def check_required(**text: str | None) -> None:
    """See to what no mount can do without; raises Invalid naming all that is missing."""
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
