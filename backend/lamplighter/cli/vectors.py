"""`lamplighter vectors`: the state of the embeddings, and computing the missing ones."""

import json
from typing import TYPE_CHECKING, Any

import click

from lamplighter.cli.common import JSON, exit_with_error, load_settings, report_errors
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.domain.search.semantic import IndexProgress


@click.group()
def vectors() -> None:
    """Manage the embeddings of semantic search."""


@vectors.command()
@JSON
@report_errors
def status(*, as_json: bool) -> None:
    """Show how many memories have embeddings."""
    from lamplighter.serve.local import client

    settings = load_settings()
    found = client.ask_web_process(settings, "vectors.read_progress")
    if found is None:  # a database that is missing or old is left as it is
        from lamplighter.serve import semantic
        from lamplighter.serve.commands import vectors as state

        found = state.describe(settings, semantic.progress(settings))
    _print_progress(found, as_json=as_json)


@vectors.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON at the end, and no bar.")
@report_errors
def backfill(*, as_json: bool) -> None:
    """Compute missing embeddings now. Lamplighter can keep running; interrupt at any time."""
    from lamplighter.serve import semantic
    from lamplighter.serve.commands import vectors as state

    settings = load_settings()
    why_not = semantic.why_not(settings)
    if why_not:
        exit_with_error(f"Semantic search is not available: {why_not}.")
    if as_json:
        done = semantic.backfill(settings, lambda _: None)
        _print_progress(state.describe(settings, done), as_json=True)
        return
    with click.progressbar(length=0, label="Memories", show_pos=True) as bar:

        def show(found: "IndexProgress") -> None:
            bar.length = found.total
            bar.update(found.indexed - bar.pos)

        done = semantic.backfill(settings, show)
        show(done)
    _print_progress(state.describe(settings, done), as_json=False)


def _print_progress(found: dict[str, Any], *, as_json: bool) -> None:
    click.echo(json.dumps(found["progress"]) if as_json else escape_terminal(found["words"]))
