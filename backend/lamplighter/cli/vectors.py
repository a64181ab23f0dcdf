"""`lamplighter vectors`: how far the meaning of memories is kept, and keeping it now."""

import json
from typing import TYPE_CHECKING

import click

from lamplighter.cli.common import in_words, refuse, settings_in_force
from lamplighter.domain.text import terminal

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings
    from lamplighter.domain.search.semantic import Progress


@click.group()
def vectors() -> None:
    """Search by meaning: how far it has come."""


@vectors.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@in_words
def status(*, as_json: bool) -> None:
    """Say of how many memories the meaning is kept."""
    from lamplighter.serve import semantic

    settings = settings_in_force()
    why_not = semantic.why_not(settings)
    _say(settings, semantic.progress(settings), why_not=why_not, as_json=as_json)


@vectors.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON at the end, and no bar.")
@in_words
def backfill(*, as_json: bool) -> None:
    """Keep the meaning of all memories now, beside whatever runs; it may be ended at any time."""
    from lamplighter.serve import semantic

    settings = settings_in_force()
    why_not = semantic.why_not(settings)
    if why_not:
        refuse(f"Memories are found by their words alone: {why_not}.")
    if as_json:
        _say(settings, semantic.backfill(settings, lambda _: None), as_json=True)
        return
    with click.progressbar(length=0, label="Memories", show_pos=True) as bar:

        def show(found: "Progress") -> None:
            bar.length = found.total
            bar.update(found.kept - bar.pos)

        done = semantic.backfill(settings, show)
        show(done)
    _say(settings, done)


def _say(
    settings: "Settings", found: "Progress | None", *, why_not: str = "", as_json: bool = False
) -> None:
    from lamplighter import embedding
    from lamplighter.domain.search import semantic as rules

    if not as_json:
        click.echo(terminal(rules.sign(found, why_not=why_not).words))
        return
    told = {
        "ready": not why_not,
        "why_not": why_not,
        "model": embedding.NAME,
        "kept": found.kept if found else None,
        "total": found.total if found else None,
    }
    click.echo(json.dumps(told))
