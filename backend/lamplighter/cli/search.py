"""`lamplighter search`: search memories, sessions, pages of the notebook and events."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from lamplighter.cli.common import (
    JSON,
    OneOf,
    OutcomeCommand,
    WholeNumber,
    exit_with_error,
    print_json,
    read,
)
from lamplighter.domain.memory.memory import GENERAL, Category, MemoryKind
from lamplighter.domain.text import escape_terminal

LAYERS: Final = ("memory", "session", "page", "event")
DEFAULT_LAYERS: Final = "memory,session,page"
DAY_CHARS: Final = len("2026-01-01")


@click.command(cls=OutcomeCommand)
@click.argument("words", nargs=-1, required=True)
@click.option("--project", help="Only this project, and global memories.")
@click.option("--service", help="Only this service; `general`: no service.")
@click.option("--category", type=OneOf(Category), help="Only this category.")
@click.option("--kind", type=OneOf(MemoryKind), help="Only this kind.")
@click.option(
    "--layers", default=DEFAULT_LAYERS, show_default=True, help="Layers to search; also `event`."
)
@click.option("--limit", type=WholeNumber(1, 100), default=10, show_default=True)
@click.option("--all", "inactive_too", is_flag=True, help="Include inactive memories.")
@click.option("--why", is_flag=True, help="Explain each score.")
@JSON
def search(
    words: Sequence[str],
    layers: str,
    limit: int,
    *,
    inactive_too: bool,
    why: bool,
    as_json: bool,
    **narrowed: str | None,
) -> None:
    """Search memories, sessions and pages: words, "a phrase", -exclude, service:NAME.

    Put -- before words that begin with a minus. Exit status 1: no results.
    """
    wanted = _layers(layers)
    answer = read(
        "search.search",
        query=" ".join(words),
        layers=wanted,
        limit=limit,
        inactive_too=inactive_too,
        **narrowed,
    )
    results = answer["results"]
    if as_json:
        print_json(results)
    else:
        click.echo("\n".join(_lines(answer, why=why)))
    sys.exit(0 if results["items"] else 1)


def _layers(text: str) -> list[str]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names or not set(names) <= set(LAYERS):
        exit_with_error(f"--layers must be one or more of {', '.join(LAYERS)}, comma-separated")
    return list(dict.fromkeys(names))


def _lines(answer: dict[str, Any], *, why: bool) -> Iterator[str]:
    items = answer["results"]["items"]
    if not items:
        yield "No results."
    if answer["holds_no_word"]:
        yield "No keyword matches. Closest semantic matches:"
    for each in items:
        yield f"{each['rank']:>2}. {escape_terminal(_head(each))}"
        yield f"    {_highlight(each)}"
        if why:
            parts = (f"{reason['what']} {reason['score']:.2f}" for reason in each["reasons"])
            yield escape_terminal(f"    {each['score']:.2f} = {' + '.join(parts) or 'newest'}")
    if answer["results"]["partial"]:
        yield answer["left_out"]


def _head(each: dict[str, Any]) -> str:
    row = each[each["layer"]]
    if each["layer"] == "session":
        return f"session {row['id']}  {row['project']}  {row['started_at'][:DAY_CHARS]}"
    if each["layer"] == "page":
        return f"page {row['path']}  {row['updated_at'][:DAY_CHARS]}"
    where = row["service"] or GENERAL
    if each["layer"] == "event":
        return f"event {row['id']}  {where}/{row['level']}  {row['created_at'][:DAY_CHARS]}"
    state = "" if row["active"] else "  inactive"
    title = f"  {row['title']}" if row["title"] else ""
    return f"memory {row['id']}  {where}/{row['category']}{state}{title}"


def _highlight(each: dict[str, Any]) -> str:
    """Return the passage on one line, with the search words in bold."""
    text, parts, at = each["text"], [], 0
    for start, end in each["spans"]:
        parts += [_one_line(text[at:start]), click.style(_one_line(text[start:end]), bold=True)]
        at = end
    return "".join((*parts, _one_line(text[at:])))


def _one_line(text: str) -> str:
    return escape_terminal(text.replace("\n", " "))
