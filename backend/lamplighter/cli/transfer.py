"""`lamplighter export` and `lamplighter import`."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamplighter.cli.common import (
    JSON,
    CliCommand,
    OutcomeCommand,
    count_noun,
    exit_with_error,
    load_settings,
    print_answer,
    print_lines,
    printing_result,
)
from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNUSABLE
from lamplighter.domain.memory.memory import OPERATIONS

if TYPE_CHECKING:
    from lamplighter.serve.commands.transfer import InterruptedImport
    from lamplighter.usecases.clients.imports import Importing, ImportOutcome

MAX_FAULTS: Final = 20
EXPORT_FORMS: Final = ("lamplighter", "agentops", "engram")
IMPORT_FORMS: Final = ("auto", *EXPORT_FORMS, "markdown")

Step = Callable[[int, int], None]


@click.command(name="export", cls=CliCommand)
@click.option(
    "--format", "form", type=click.Choice(EXPORT_FORMS), default=EXPORT_FORMS[0], show_default=True
)
@click.option("--project", help="Only this project.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Write to this file instead of standard output.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    help="Write one Markdown file per active memory to this directory.",
)
def export(form: str, project: str | None, output: Path | None, directory: Path | None) -> None:
    """Export memories and sessions.

    `lamplighter` (JSON Lines) contains all memories and client sessions; `agentops` and
    `engram` contain active memories in the formats of those programs. With --dir, review
    and change the memories as files, then use `lamplighter plan` and `lamplighter apply`.
    """
    if directory is not None:
        _export_directory(directory, project)
        return
    from lamplighter.serve.commands import transfer
    from lamplighter.usecases.clients.exports import ExportFormat

    settings = load_settings()
    to = None if output == Path("-") else output
    with _bar("Exporting") as step:
        done = transfer.write_export(settings, ExportFormat(form), to, project=project, step=step)
    memories, sessions = _memories(done.memories), count_noun(done.sessions, "session")
    click.echo(f"Exported {memories} and {sessions}.", err=True)


def _export_directory(directory: Path, project: str | None) -> None:
    from lamplighter.serve.commands import directory as command

    done = command.export(load_settings(), directory, project=project)
    written, removed = len(done.written), len(done.removed)
    click.echo(
        f"Files written: {written:,}; removed: {removed:,}; unchanged: {done.unchanged:,}.",
        err=True,
    )


@click.command(name="import", cls=OutcomeCommand)
@click.argument("path")
@click.option(
    "--format", "kind", type=click.Choice(IMPORT_FORMS), default=IMPORT_FORMS[0], show_default=True
)
@click.option("--project", default=OPERATIONS, show_default=True, help="Default project.")
@click.option(
    "--sections", "by_section", is_flag=True, help="Create one memory per section of a note."
)
@click.option("--dry-run", "dry", is_flag=True, help="Only count what would be imported.")
@click.option("--strict", is_flag=True, help="Import nothing if any item is invalid.")
@JSON
def import_(kind: str, *, as_json: bool, strict: bool, **values: Any) -> None:
    """Import an export of Lamplighter, AgentOps or engram, or notes in Markdown.

    PATH is a file, a directory of notes, or - for standard input. A second import of the same
    items changes nothing; items that changed since are updated. Exit status 0: all items were
    imported; 1: some items are invalid, and the others were imported; or the import was
    interrupted, or its result cannot be printed: an error names what was imported; 2: nothing was
    imported.
    """
    from lamplighter.serve.commands import transfer

    options = transfer.ImportOptions(kind=transfer.ImportFormat(kind), strict=strict, **values)
    settings = load_settings()
    try:
        with _bar("Importing") as step:
            done = transfer.import_file(settings, options, step=step)
    except transfer.InterruptedImport as error:
        exit_with_error(_interruption(error), status=EXIT_FAILED)
    refused = strict and bool(done.faults)
    summary = "Nothing was imported." if refused else _summary(done.counts, dry=done.dry)
    failed = EXIT_UNUSABLE if refused or not any(done.counts.values()) else EXIT_FAILED
    with printing_result(summary, status=failed if done.faults else EXIT_FAILED):
        _print_result(done, summary, refused=refused, as_json=as_json)
    if done.faults:
        sys.exit(failed)


def _print_result(done: "Importing", summary: str, *, refused: bool, as_json: bool) -> None:
    if not as_json:
        faults = [f"{each.place}: {each.message}" for each in done.faults[:MAX_FAULTS]]
        if len(done.faults) > MAX_FAULTS:
            faults.append(f"{len(done.faults) - MAX_FAULTS:,} more errors.")
        print_lines(*(f"lamplighter: {each}" for each in faults), err=True)
    print_answer(_as_json(done, refused=refused), [summary], as_json=as_json)


def _interruption(error: "InterruptedImport") -> str:
    act, more = error.done.act, " Further items may be imported." if error.uncertain else ""
    if act is None:
        return f"{error} Some items may be imported. Import the same items again to continue."
    return (
        f"{error} {_summary(error.done.stored)} This is act {act} in the journal.{more} Import the "
        f"same items again to continue, or undo it: POST /api/v1/acts/{act}/undo."
    )


def _summary(counts: "Mapping[ImportOutcome, int]", *, dry: bool = False) -> str:
    from lamplighter.usecases.clients.imports import ImportOutcome

    came = _memories(counts.get(ImportOutcome.CREATED, 0))
    rest = (
        (ImportOutcome.REVISED, "revised"),
        (ImportOutcome.UNCHANGED, "unchanged"),
        (ImportOutcome.SKIPPED, "deleted at the source"),
    )
    said = [f"{counts[became]:,} {word}" for became, word in rest if counts.get(became)]
    sessions = counts.get(ImportOutcome.SESSION, 0)
    said += [count_noun(sessions, "session")] if sessions else []
    more = f" ({', '.join(said)})" if said else ""
    return f"{'Would import' if dry else 'Imported'} {came}{more}."


def _as_json(done: "Importing", *, refused: bool) -> dict[str, object]:
    from lamplighter.usecases.clients.imports import ImportOutcome

    names = {ImportOutcome.SESSION: "sessions", ImportOutcome.PROMPT: "prompts"}
    counted = [each for each in ImportOutcome if each is not ImportOutcome.KNOWN]
    return {
        **{names.get(each, each): 0 if refused else done.counts.get(each, 0) for each in counted},
        "dry_run": done.dry,
        "faults": [{"place": each.place, "error": each.message} for each in done.faults],
    }


def _memories(count: int) -> str:
    return count_noun(count, "memory", "memories")


@contextmanager
def _bar(label: str) -> Iterator[Step]:
    """Show progress on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def step(done: int, total: int) -> None:
            bar.length = max(1, total)
            bar.update(min(done, total) - bar.pos)

        yield step
