"""`lamplighter notebook`: the Markdown pages of the memories."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from lamplighter.cli.common import JSON, CliGroup, load_settings, print_json
from lamplighter.domain.notebook.place import INDEX
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.usecases.notebook.context import SyncResult


@click.group(cls=CliGroup)
def notebook() -> None:
    """Read the notebook, and synchronize it with the memories."""


@notebook.command(name="list")
@click.option("--query", default="", help="Only pages with all of these words.")
@JSON
def list_pages(query: str, *, as_json: bool) -> None:
    """List the pages, and those that need a review."""
    from lamplighter.serve.commands import notebook as commands

    pages = commands.list_pages(load_settings(), query)
    if as_json:
        print_json(
            [
                {
                    "path": each.path,
                    "memories": each.memories,
                    "reasons": list(each.reasons),
                    "excerpt": each.excerpt,
                }
                for each in pages
            ]
        )
        return
    for each in pages:
        noun = "memory" if each.memories == 1 else "memories"
        many = "index" if each.path == INDEX else f"{each.memories:,} {noun}"
        click.echo(escape_terminal(f"{each.path}.md  {many}"))
        if each.excerpt:
            click.echo(escape_terminal(f"    {each.excerpt}"))
        for reason in each.reasons:
            click.echo(escape_terminal(f"    needs review: {reason}"))
    if not pages and query:
        click.echo("No page has all of these words.")
    elif not pages:
        click.echo("The notebook has no pages yet. Run `lamplighter notebook sync` to write them.")


@notebook.command()
@click.argument("page")
def show(page: str) -> None:
    """Print a page: MEMORY, or services/jellyfin."""
    from lamplighter.serve.commands import notebook as commands

    text = commands.show(load_settings(), page.removesuffix(".md"))
    click.echo("\n".join(escape_terminal(line) for line in text.split("\n")), nl=False)


@notebook.command()
@JSON
def sync(*, as_json: bool) -> None:
    """Read edits of the pages, then write the pages of changed memories.

    Exit status 1: a page needs a review.
    """
    from lamplighter.serve.commands import notebook as commands

    result = commands.sync(load_settings())
    _print_result(result, result.needs_review, as_json=as_json)


@notebook.command()
@click.argument("pages", nargs=-1)
@JSON
def accept(pages: Sequence[str], *, as_json: bool) -> None:
    """Accept the files of pages that need a review; without a page, of all of them."""
    from lamplighter.serve.commands import notebook as commands

    paths = [each.removesuffix(".md") for each in pages]
    result = commands.accept(load_settings(), paths)
    _print_result(result, result.for_review, as_json=as_json)


@notebook.command()
@click.argument("pages", nargs=-1)
@JSON
def discard(pages: Sequence[str], *, as_json: bool) -> None:
    """Write pages that need a review again from the memories; without a page, all of them."""
    from lamplighter.serve.commands import notebook as commands

    paths = [each.removesuffix(".md") for each in pages]
    result = commands.discard(load_settings(), paths)
    _print_result(result, result.for_review, as_json=as_json)


def _print_result(
    result: "SyncResult", reviews: Mapping[str, Sequence[str]], *, as_json: bool
) -> None:
    """Print what a run did and the pages to review, and end with status 1 if there are any."""
    if as_json:
        report = {
            "edits": result.edits,
            "act": result.act,
            "written": result.written,
            "removed": result.removed,
            "for_review": {path: list(reasons) for path, reasons in reviews.items()},
            "ignored": result.ignored,
        }
        print_json(report)
        sys.exit(1 if reviews else 0)
    edits = "1 edit" if result.edits == 1 else f"{result.edits:,} edits"
    written = "1 page" if len(result.written) == 1 else f"{len(result.written):,} pages"
    click.echo(f"Read {edits}; wrote {written}.")
    for path, reason in result.ignored.items():
        click.echo(escape_terminal(f"{path} is not read: {reason}."))
    for path, reasons in reviews.items():
        for reason in reasons:
            click.echo(escape_terminal(f"{path}.md needs a review: {reason}"))
    if reviews:
        click.echo("Use `lamplighter notebook accept PAGE` or `lamplighter notebook discard PAGE`.")
    sys.exit(1 if reviews else 0)
