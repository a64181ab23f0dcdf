"""`lamplighter export` and `lamplighter import`: what is known, out of here and in again."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lamplighter.cli.common import in_words, settings_in_force
from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNUSABLE
from lamplighter.domain.memory.memory import OPERATIONS
from lamplighter.domain.text import terminal

if TYPE_CHECKING:
    from lamplighter.usecases.clients.imports import Fault, Importing

SHOWN: Final = 20
FORMS: Final = ("lamplighter", "agentops", "engram")
READ: Final = ("auto", *FORMS, "markdown")

Step = Callable[[int, int], None]


@click.command(name="export")
@click.option("--format", "form", type=click.Choice(FORMS), default=FORMS[0], show_default=True)
@click.option("--project", help="Only what belongs to this project.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Instead of printing it.")
@in_words
def export(form: str, project: str | None, output: Path | None) -> None:
    """Write out what is known, to keep it or to take it elsewhere.

    `lamplighter` (JSON Lines) holds every memory and client's session; `agentops` and `engram`
    hold the knowledge that is active, as those programs read it.
    """
    from lamplighter.serve.commands import transfer
    from lamplighter.usecases.clients.exports import Form

    settings = settings_in_force()
    to = None if output == Path("-") else output
    with _bar("Exporting") as step:
        done = transfer.tell(settings, Form(form), to, project=project, step=step)
    said = f"Exported {_many(done.memories, 'memory', 'memories')}"
    click.echo(f"{said} and {_many(done.sessions, 'session', 'sessions')}.", err=True)


@click.command(name="import")
@click.argument("path")
@click.option("--format", "kind", type=click.Choice(READ), default=READ[0], show_default=True)
@click.option("--project", default=OPERATIONS, show_default=True, help="For what names none.")
@click.option("--sections", is_flag=True, help="A memory for each section of a note.")
@click.option("--dry-run", is_flag=True, help="Only count what would come in.")
@click.option("--strict", is_flag=True, help="Take nothing in when anything is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@in_words
def import_(
    path: str,
    kind: str,
    project: str,
    *,
    sections: bool,
    dry_run: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Take in an export of Lamplighter, AgentOps or engram, or notes in Markdown.

    PATH is a file, a directory of notes, or - for standard input. Taken in twice it changes
    nothing; what was changed there is revised here. Exit status 0: all of it is in; 1: some
    of it is wrong, and the rest is in; 2: nothing is.
    """
    from lamplighter.serve.commands import transfer

    wish = transfer.Wish(
        path=path,
        kind=transfer.Kind(kind),
        project=project,
        by_section=sections,
        dry=dry_run,
        strict=strict,
    )
    settings = settings_in_force()
    with _bar("Importing") as step:
        done = transfer.bring(settings, wish, step=step)
    refused = strict and bool(done.faults)
    if as_json:
        click.echo(json.dumps(_as_json(done, refused=refused), ensure_ascii=False))
    else:
        _say(done.faults)
        click.echo("Nothing was taken in." if refused else _words(done))
    if done.faults:
        sys.exit(EXIT_UNUSABLE if refused or not any(done.counts.values()) else EXIT_FAILED)


def _words(done: "Importing") -> str:
    from lamplighter.usecases.clients.imports import Became

    counts = done.counts
    came = _many(counts.get(Became.CREATED, 0), "memory", "memories")
    rest = (
        (Became.REVISED, "revised"),
        (Became.UNCHANGED, "held already"),
        (Became.SKIPPED, "deleted there"),
    )
    said = [f"{counts[became]:,} {word}" for became, word in rest if counts.get(became)]
    sessions = counts.get(Became.SESSION, 0)
    said += [_many(sessions, "session", "sessions")] if sessions else []
    more = f" ({', '.join(said)})" if said else ""
    return f"{'Would import' if done.dry else 'Imported'} {came}{more}."


def _as_json(done: "Importing", *, refused: bool) -> dict[str, object]:
    from lamplighter.usecases.clients.imports import Became

    names = {Became.SESSION: "sessions", Became.PROMPT: "prompts"}
    counted = [each for each in Became if each is not Became.KNOWN]
    return {
        **{names.get(each, each): 0 if refused else done.counts.get(each, 0) for each in counted},
        "dry_run": done.dry,
        "faults": [{"place": each.place, "error": each.words} for each in done.faults],
    }


def _say(faults: "list[Fault]") -> None:
    for each in faults[:SHOWN]:
        click.echo(f"lamplighter: {terminal(each.place)}: {terminal(each.words)}", err=True)
    if len(faults) > SHOWN:
        click.echo(f"lamplighter: {len(faults) - SHOWN:,} more are wrong.", err=True)


@contextmanager
def _bar(label: str) -> Iterator[Step]:
    """Show how far it is, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def step(done: int, total: int) -> None:
            bar.length = max(1, total)
            bar.update(min(done, total) - bar.pos)

        yield step


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
