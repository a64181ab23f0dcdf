"""`lamplighter vectors`: the state of the embeddings, and computing the missing ones."""

import json
from typing import TYPE_CHECKING

import click

from lamplighter.cli.common import exit_with_error, load_settings, report_errors
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings
    from lamplighter.domain.search.semantic import IndexProgress


@click.group()
def vectors() -> None:
    """Manage the embeddings of semantic search."""


@vectors.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_errors
def status(*, as_json: bool) -> None:
    """Show how many memories have embeddings."""
    from lamplighter.serve import semantic

    settings = load_settings()
    why_not = semantic.why_not(settings)
    _print_progress(settings, semantic.progress(settings), why_not=why_not, as_json=as_json)


@vectors.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON at the end, and no bar.")
@report_errors
def backfill(*, as_json: bool) -> None:
    """Compute missing embeddings now. Lamplighter can keep running; interrupt at any time."""
    from lamplighter.serve import semantic

    settings = load_settings()
    why_not = semantic.why_not(settings)
    if why_not:
        exit_with_error(f"Semantic search is not available: {why_not}.")
    if as_json:
        _print_progress(settings, semantic.backfill(settings, lambda _: None), as_json=True)
        return
    with click.progressbar(length=0, label="Memories", show_pos=True) as bar:

        def show(found: "IndexProgress") -> None:
            bar.length = found.total
            bar.update(found.kept - bar.pos)

        done = semantic.backfill(settings, show)
        show(done)
    _print_progress(settings, done)


def _print_progress(
    settings: "Settings", found: "IndexProgress | None", *, why_not: str = "", as_json: bool = False
) -> None:
    from lamplighter import embedding
    from lamplighter.domain.search import semantic as rules

    if not as_json:
        click.echo(escape_terminal(rules.judge_index(found, why_not=why_not).words))
        return
    told = {
        "ready": not why_not,
        "why_not": why_not,
        "model": embedding.NAME,
        "kept": found.kept if found else None,
        "total": found.total if found else None,
    }
    click.echo(json.dumps(told))
