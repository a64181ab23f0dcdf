"""`lamplighter notebook`: the Markdown pages of the memories."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from lamplighter.cli.common import JSON, OutcomeGroup, count_noun, load_settings, print_answer
from lamplighter.domain.notebook.place import INDEX
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.usecases.notebook.context import SyncResult
    from lamplighter.usecases.notebook.decide import PageListing


@click.group(cls=OutcomeGroup)
def notebook() -> None:
    """Read the notebook, and synchronize it with the memories."""


@notebook.command(name="list")
@click.option("--query", default="", help="Only pages with all of these words.")
@JSON
def list_pages(query: str, *, as_json: bool) -> None:
    """List the pages, and those that need a review."""
    from lamplighter.serve.commands import notebook as commands

    pages = commands.list_pages(load_settings(), query)
    names = ("path", "memories", "reasons", "excerpt")
    report = [{name: getattr(each, name) for name in names} for each in pages]
    nothing = "The notebook has no pages yet. Run `lamplighter notebook sync` to write them."
    empty = "No page has all of these words." if query else nothing
    print_answer(report, _page_lines(pages) if pages else [empty], as_json=as_json)


def _page_lines(pages: "Sequence[PageListing]") -> Iterator[str]:
    for each in pages:
        memories = count_noun(each.memories, "memory", "memories")
        yield f"{each.path}.md  {'index' if each.path == INDEX else memories}"
        if each.excerpt:
            yield f"    {each.excerpt}"
        yield from (f"    needs review: {reason}" for reason in each.reasons)


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
    report = {
        "edits": result.edits,
        "act": result.act,
        "written": result.written,
        "removed": result.removed,
        "for_review": {path: list(reasons) for path, reasons in reviews.items()},
        "ignored": result.ignored,
    }
    print_answer(report, _result_lines(result, reviews), as_json=as_json)
    sys.exit(1 if reviews else 0)


def _result_lines(result: "SyncResult", reviews: Mapping[str, Sequence[str]]) -> Iterator[str]:
    edits, written = count_noun(result.edits, "edit"), count_noun(len(result.written), "page")
    yield f"Read {edits}; wrote {written}."
    yield from (f"{path} is not read: {reason}." for path, reason in result.ignored.items())
    for path, reasons in reviews.items():
        yield from (f"{path}.md needs a review: {reason}" for reason in reasons)
    if reviews:
        yield "Use `lamplighter notebook accept PAGE` or `lamplighter notebook discard PAGE`."
