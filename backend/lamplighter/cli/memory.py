"""`lamplighter memory`: list, add, change, confirm, delete and restore memories."""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final

import click

from lamplighter.cli.common import (
    JSON,
    ROW_ID,
    CliGroup,
    JsonParameter,
    Moment,
    OneOf,
    Share,
    WholeNumber,
    exit_with_error,
    load_settings,
    print_answer,
    print_lines,
    printing_result,
    read,
)
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.memory.memory import (
    EDITABLE_FIELDS,
    GENERAL,
    INITIAL_CONFIDENCE,
    NEVER,
    OPERATIONAL,
    OPERATIONS,
    Candidate,
    Category,
    Edit,
    Memory,
    MemoryKind,
    Source,
    Trust,
)
from lamplighter.domain.text import one_line, shorten

if TYPE_CHECKING:
    from lamplighter.domain.relate import Lexicon

LEAST_WIDTH: Final = 20
WHERE_CHARS: Final = 16
LINE_BYTES: Final = 1024 * 1024
CHANGE_FIELDS: Final = tuple(name for name in EDITABLE_FIELDS if name != "observation")
CATEGORIES: Final = OneOf(Category)
KINDS: Final = OneOf(MemoryKind)
SCOPES: Final = click.Choice(["project", "global"])
SORTS: Final = ("confidence", "updated", "created", "service", "category", "state", "source")
NUMBER: Final = click.argument("number", type=ROW_ID)


@click.group(cls=CliGroup)
def memory() -> None:
    """List, add, change and compare memories."""


@memory.command("list")
@click.option("--q", help="Only memories that contain this text.")
@click.option("--service", help="Only this service; `general`: no service.")
@click.option("--category", type=CATEGORIES)
@click.option("--kind", type=KINDS)
@click.option("--project", help="Only this project.")
@click.option("--scope", type=SCOPES)
@click.option(
    "--state",
    type=click.Choice(["active", "inactive", "review", "all"]),
    default="all",
    show_default=True,
)
@click.option("--view", type=click.Choice(["fading", "unused", "single", "edited"]))
@click.option("--as-of", help="Memories as of this time: 2026-01-01T12:00:00Z.")
@click.option("--sort", type=click.Choice(SORTS), default=SORTS[0], show_default=True)
@click.option("--order", type=click.Choice(["asc", "desc"]))
@click.option("--limit", type=WholeNumber(1, 10_000), default=50, show_default=True)
@JSON
def list_(*, as_json: bool, **request: Any) -> None:
    """List memories, highest confidence first."""
    page = read("memories.list_memories", **request)
    print_answer(page, _table(page["items"]), as_json=as_json)
    if not as_json:
        _print_rest(page, otherwise="No memories match.")


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="[CATEGORY] TEXT")
@click.option("--category", type=CATEGORIES, help="The category, instead of the first word.")
@click.option("--service", help="The service that the memory is about.")
@click.option("--confidence", type=Share(), default=INITIAL_CONFIDENCE, show_default=True)
@click.option("--title", default="")
@click.option("--tag", "tags", multiple=True, help="Repeatable.")
@click.option("--project", default=OPERATIONS, show_default=True)
@click.option("--scope", type=SCOPES, default="project", show_default=True)
@click.option("--topic-key", help="Replaces the memory with this key: config/db/pool.")
@click.option(
    "--metadata", type=JsonParameter(), default="{}", help="More facts, as a JSON object."
)
@click.option("--expires", "expires_at", type=Moment(), help="When it expires: 2026-01-31.")
@JSON
def add(words: tuple[str, ...], category: str | None, *, as_json: bool, **value: Any) -> None:
    """Add a memory with the text TEXT (- reads standard input)."""
    from lamplighter.serve.commands import memories

    which, *text = (category, *words) if category else words
    candidate = Candidate(
        category=_category(which),
        observation=_text_argument(" ".join(text)),
        tier=0,
        session_id=None,
        source=Source.OPERATOR,
        trust=Trust.TRUSTED,
        **value,
    )
    made = memories.add(load_settings(), candidate)
    _print_memory(made, "Added", as_json=as_json)


@memory.command()
@NUMBER
@click.option("--text", help="The new text (- reads standard input).")
@click.option("--confidence", type=Share())
@click.option("--category", type=CATEGORIES)
@click.option("--service", help="`general`: no service.")
@click.option("--active/--inactive", default=None, help="Whether prompts may include it.")
@click.option("--pin/--unpin", "pinned", default=None, help="Whether it never fades.")
@click.option("--title")
@click.option("--tag", "tags", multiple=True, help="Replaces all tags; `--tag ''`: none.")
@click.option("--scope", type=SCOPES)
@click.option("--topic-key", help="`--topic-key ''` removes the key.")
@click.option("--metadata", type=JsonParameter(), help="Replaces all metadata.")
@click.option("--expires", "expires_at", type=Moment(empty=NEVER), help="`--expires ''`: never.")
@JSON
def edit(
    number: int, *, text: str | None, tags: tuple[str, ...], as_json: bool, **value: Any
) -> None:
    """Change a memory. Omitted options keep their values."""
    from lamplighter.serve.commands import memories

    change = Edit(
        observation=None if text is None else _text_argument(text),
        tags=tuple(filter(None, tags)) if tags else None,
        **{**value, "category": Category(value["category"]) if value["category"] else None},
    )
    if change == Edit():
        exit_with_error("Nothing to change. Pass an option, such as --confidence 0.9.")
    changed = memories.edit(load_settings(), number, change)
    _print_memory(changed, "Changed", as_json=as_json)


@memory.command()
@NUMBER
@JSON
def confirm(number: int, *, as_json: bool) -> None:
    """Confirm that a memory is correct: prompts no longer label it as unverified."""
    from lamplighter.serve.commands import memories

    _print_memory(memories.confirm(load_settings(), number), "Confirmed", as_json=as_json)


@memory.command()
@NUMBER
@click.option("--soft", is_flag=True, help="Deactivate the memory instead.")
@click.option("--permanently", is_flag=True, help="Skip the trash. This cannot be undone.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def delete(number: int, *, soft: bool, permanently: bool, yes: bool) -> None:
    """Move a memory to the trash. It can be restored."""
    from lamplighter.formats import serialize
    from lamplighter.serve.commands import memories

    if soft and permanently:
        exit_with_error("--soft and --permanently exclude each other. Pass one of them.")
    settings = load_settings()
    existing = memories.get_memory(settings, number, trashed=permanently)
    way = " permanently" if permanently else ""
    if not yes:
        print_lines(_line(serialize.memory(existing), _width()))
        click.confirm(f"Delete memory {number}{way}?", abort=True, err=True)
    memories.delete(settings, number, soft=soft, permanently=permanently)
    again = "" if permanently else f" To restore it: lamplighter memory restore {number}"
    click.echo(f"Deleted memory {number}{way}.{again}")


@memory.command()
@NUMBER
@JSON
def restore(number: int, *, as_json: bool) -> None:
    """Restore a memory from the trash, or make an inactive one active."""
    from lamplighter.serve.commands import memories

    _print_memory(memories.restore(load_settings(), number), "Restored", as_json=as_json)


@memory.command()
@click.option("--q", default="", help="Only memories that contain this text.")
@click.option("--limit", type=WholeNumber(1, 10_000), default=50, show_default=True)
@JSON
def trash(q: str, limit: int, *, as_json: bool) -> None:
    """List deleted memories."""
    page = read("trash.list_trash", q=q, limit=limit)
    rows = [each["memory"] for each in page["items"] if each["memory"] is not None]
    print_answer(page, _table(rows), as_json=as_json)
    if not as_json:
        _print_rest(page, otherwise="The trash is empty." if not q else "No memories match.")


@memory.command()
@NUMBER
@JSON
def show(number: int, *, as_json: bool) -> None:
    """Show a memory in full, and its page of the notebook."""
    row = read("memories.read_memory", memory_id=number)
    print_answer(row, _details(row), as_json=as_json)


def _details(row: dict[str, Any]) -> Iterator[str]:
    state = "" if row["active"] else f"  {row['inactive_reason'] or 'inactive'}"
    about = f"{_where(row)}/{row['category']}  {row['confidence']:.2f}  {row['trust']}"
    yield f"#{row['id']}  {about}{state}"
    for text in filter(None, (row["title"], *row["observation"].splitlines())):
        yield f"    {text}"
    if row["metadata"]:
        yield f"    metadata {json.dumps(row['metadata'], ensure_ascii=False)}"
    if row["expires_at"]:
        yield f"    expires {row['expires_at']}"
    if row["page"]:
        yield f"    on the page {row['page']}.md"


@memory.command()
@NUMBER
@JSON
def history(number: int, *, as_json: bool) -> None:
    """Show who changed a memory, when and why, newest first."""
    found = read("history.list_changes", memory_id=number)
    print_answer(found, chain(*map(_step, found["items"])), as_json=as_json)


@memory.command()
@NUMBER
@click.option("--services", help="For a session about these services: a,b.")
@click.option(
    "--budget", type=WholeNumber(0, 1_000_000), help="Override LAMPLIGHTER_MEMORY_BUDGET."
)
@JSON
def why(number: int, *, services: str | None, budget: int | None, as_json: bool) -> None:
    """Show whether the next prompt includes a memory, why, and what would include it."""
    explanation = read("inclusion.explain", memory_id=number, services=services, budget=budget)
    print_answer(explanation, _reasons(explanation), as_json=as_json)


def _reasons(explanation: dict[str, Any]) -> Iterator[str]:
    line, ways = explanation["line"], explanation["ways"]
    yield f"{'In' if line else 'Not in'} the next prompt: {explanation['words']}"
    if line:
        yield line
    if ways:
        yield "What would include it:" if len(ways) == 1 else "Any of these includes it:"
    yield from (f"  {way['words']}" for way in ways)


def _category(word: str) -> Category:
    if word.lower() not in set(Category):
        wrong = shorten(one_line(word), LEAST_WIDTH)
        exit_with_error(f"{wrong} is not a category. Use one of {', '.join(Category)}.")
    return Category(word.lower())


def _text_argument(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _print_memory(memory: Memory, done: str, *, as_json: bool) -> None:
    from lamplighter.formats import serialize

    result = f"{done} memory {memory.id}."
    with printing_result(result):
        print_answer(serialize.memory(memory), [result], as_json=as_json)


def _print_rest(found: dict[str, Any], *, otherwise: str) -> None:
    more = found["total"] - len(found["items"])
    if not found["items"]:
        click.echo(otherwise, err=True)
    elif more > 0:
        click.echo(f"{more:,} more: --limit", err=True)


def _table(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = _width()
    if found:
        yield f"{'ID':>6}  CONF  {'CATEGORY':<12}  {'WHERE':<{WHERE_CHARS}}  OBSERVATION"[:width]
    for each in found:
        yield _line(each, width)


def _line(each: dict[str, Any], width: int) -> str:
    category = each["category"]
    where = shorten(one_line(_where(each)), WHERE_CHARS)
    title = f"{each['title']}: " if each["title"] else ""
    aside = "" if each["active"] else f"({each['inactive_reason'] or 'inactive'}) "
    head = f"{each['id']:>6}  {each['confidence']:.2f}  {category:<12}  {where:<{WHERE_CHARS}}  "
    words = one_line(f"{aside}{title}{each['observation']}")
    return head + shorten(words, max(LEAST_WIDTH, width - len(head)))


def _where(each: dict[str, Any]) -> str:
    """Return the service of an operational memory, the project of another one."""
    project: str = each["project"]
    return each["service"] or GENERAL if each["category"] in OPERATIONAL else project


def _width() -> int:
    return shutil.get_terminal_size().columns


def _step(each: dict[str, Any]) -> Iterator[str]:
    by = f"session {each['session_id']}" if each["session_id"] else each["actor"]
    at = each["at"][:16].replace("T", " ")
    why = f": {one_line(each['reason'])}" if each["reason"] else ""
    yield f"version {each['version']}  {at}Z  {each['cause']} by {by}{why}"
    before, after = each["before"], each["after"]
    if after is None:
        return
    if before is None or before["observation"] != after["observation"]:
        yield f"    observation: {one_line(after['observation'])}"
    for name in CHANGE_FIELDS if before else ():
        if before.get(name) != after.get(name):
            yield f"    {name}: {_value(before.get(name))} -> {_value(after.get(name))}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        value = ", ".join(value)
    return f"{value:.2f}" if isinstance(value, float) else one_line(str(value or "none"))


@memory.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("--service", help="The service that both texts are about.")
@click.option("--category", hidden=True)
@JSON
@click.option("--jsonl", is_flag=True, help="Read pairs from standard input, a JSON object a line.")
def relate(
    old: str | None,
    new: str | None,
    service: str | None,
    category: str | None,
    *,
    as_json: bool,
    jsonl: bool,
) -> None:
    """Compare two observations: does NEW repeat, contradict or not concern OLD?

    With --jsonl each input line is {"old", "new", "service", "id"}, and each output line
    {"id", "label", "sure", "p", "reason"} or {"id", "error"}; errors make the exit status 1.
    """
    from lamplighter.config import lexicon
    from lamplighter.domain import relate as relating
    from lamplighter.formats import serialize

    if jsonl == (old is not None) or (old is not None and not new):
        exit_with_error("Pass OLD and NEW, or --jsonl with pairs on standard input.")
    words = lexicon.active_lexicon(load_settings())
    if old is None or new is None:
        sys.exit(EXIT_FAILED if _each(sys.stdin.buffer, words) else 0)
    found = relating.relate(new, old, service=service, lexicon=words)
    line = f"{found.label}{'' if found.sure else ' (not sure)'}: {found.reason}"
    print_answer(serialize.verdict(found), [line], as_json=as_json)


def _each(file: IO[bytes], words: "Lexicon") -> int:
    """Answer each line as it arrives; return the number of errors."""
    wrong = 0
    for line in _lines(file):
        answer = _answer(line, words)
        wrong += "error" in answer
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    return wrong


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Read line by line; cut a line that is too long."""
    while line := file.readline(LINE_BYTES):
        rest = line
        while len(rest) == LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES)
        if line.strip():
            yield line


def _answer(line: bytes, vocabulary: "Lexicon") -> dict[str, Any]:
    from lamplighter.domain.relate import relate as related
    from lamplighter.formats import serialize

    request: Any = None
    try:
        request = json.loads(line.decode("utf-8-sig"))
        old, new, service = (_text(request, name) for name in ("old", "new", "service"))
    except (ValueError, RecursionError) as error:
        mark = request.get("id") if isinstance(request, dict) else None
        why = "not UTF-8" if isinstance(error, UnicodeDecodeError) else one_line(str(error))
        return {"id": mark, "error": why}
    found = related(new or "", old or "", service=service, lexicon=vocabulary)
    return {"id": request.get("id"), **serialize.verdict(found)}


def _text(payload: Any, name: str) -> str | None:
    if not isinstance(payload, dict):
        raise ValueError("is not a JSON object")
    value = payload.get(name)
    if isinstance(value, str) and value.strip():
        return value
    if name == "service" and value in (None, ""):
        return None
    raise ValueError(f"{name} is {'missing' if value is None else 'empty or not a string'}")
