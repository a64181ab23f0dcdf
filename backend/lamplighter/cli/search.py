"""`lamplighter search`: search memories, sessions and events."""

import json
import sys
from collections.abc import Iterator, Sequence

import click

from lamplighter.cli.common import exit_with_error, load_settings, report_errors
from lamplighter.cli.memory import CATEGORIES, KINDS
from lamplighter.domain.memory.memory import GENERAL, Category, Memory, MemoryKind
from lamplighter.domain.search.search import SearchLayer, SearchRequest, SearchResult, SearchResults
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import escape_terminal


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--project", help="Only this project, and global memories.")
@click.option("--service", help="Only this service; `general`: no service.")
@click.option("--category", type=CATEGORIES, help="Only this category.")
@click.option("--kind", type=KINDS, help="Only this kind.")
@click.option(
    "--layers", default="memory,session", show_default=True, help="Layers to search; also `event`."
)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--all", "inactive_too", is_flag=True, help="Include inactive memories.")
@click.option("--why", is_flag=True, help="Explain each score.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_errors
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
    """Search memories and sessions: words, "a phrase", -exclude, service:NAME, type:decision.

    Put -- before words that begin with a minus. Exit status 1: no results.
    """
    from lamplighter.serve.commands import search as searching

    category, kind = narrowed["category"], narrowed["kind"]
    wanted = SearchRequest(
        query=" ".join(words),
        layers=_layers(layers),
        project=narrowed["project"],
        service=narrowed["service"],
        categories=(Category(category),) if category else (),
        kind=MemoryKind(kind) if kind else None,
        active=None if inactive_too else True,
        limit=limit,
    )
    found = searching.search(load_settings(), wanted)
    if as_json:
        from lamplighter.formats.serialize import search_results

        click.echo(json.dumps(search_results(found), ensure_ascii=False))
    else:
        for line in _lines(found, why=why):
            click.echo(line)
    sys.exit(0 if found.found else 1)


def _layers(given: str) -> tuple[SearchLayer, ...]:
    names = [each.strip() for each in given.split(",") if each.strip()]
    if not names or not set(names) <= set(SearchLayer):
        exit_with_error(
            f"--layers must be one or more of {', '.join(SearchLayer)}, comma-separated"
        )
    return tuple(SearchLayer(each) for each in dict.fromkeys(names))


def _lines(found: SearchResults, *, why: bool) -> Iterator[str]:
    if not found.found:
        yield "No results."
    if found.holds_no_word:
        yield "No keyword matches. Closest semantic matches:"
    for each in found.found:
        yield f"{each.rank:>2}. {escape_terminal(_head(each))}"
        yield f"    {_highlight(each)}"
        if why:
            parts = (f"{reason.what} {reason.score:.2f}" for reason in each.reasons)
            yield escape_terminal(f"    {each.score:.2f} = {' + '.join(parts) or 'newest'}")
    if found.partial:
        yield found.left_out


def _head(each: SearchResult) -> str:
    row = each.row
    if isinstance(row, Session):
        return f"session {row.id}  {row.project}  {row.started_at:%Y-%m-%d}"
    if isinstance(row, Event):
        return f"event {row.id}  {row.service or GENERAL}/{row.level}  {row.created_at:%Y-%m-%d}"
    assert isinstance(row, Memory)
    state = "" if row.active else "  inactive"
    title = f"  {row.title}" if row.title else ""
    return f"memory {row.id}  {row.service or GENERAL}/{row.category}{state}{title}"


def _highlight(each: SearchResult) -> str:
    """Return the passage on one line, the words that were looked for in bold."""
    parts, at = [], 0
    for start, end in each.spans:
        parts += [
            _one_line(each.text[at:start]),
            click.style(_one_line(each.text[start:end]), bold=True),
        ]
        at = end
    return "".join((*parts, _one_line(each.text[at:])))


def _one_line(text: str) -> str:
    return escape_terminal(text.replace("\n", " "))
