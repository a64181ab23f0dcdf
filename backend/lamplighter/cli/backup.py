"""`lamplighter backup` and `lamplighter restore`."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lamplighter.cli.common import (
    JSON,
    OutcomeCommand,
    WholeNumber,
    count_noun,
    discard_output,
    exit_with_error,
    load_settings,
    print_lines,
    printing_result,
)
from lamplighter.domain.errors import EXIT_FAILED

if TYPE_CHECKING:
    from lamplighter.serve.backup.manifest import Manifest


@click.command(cls=OutcomeCommand)
@click.argument("directory", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--keep",
    type=WholeNumber(1),
    default=7,
    show_default=True,
    help="Number of backups of this home to keep; older ones are removed.",
)
@JSON
def backup(directory: Path | None, keep: int, *, as_json: bool) -> None:
    """Back up the database, the session files and services.yaml into DIRECTORY.

    The default is the directory `backups` in the home. Lamplighter can keep running. Each
    backup is restored once, as a test. Exit status 0: backup created; 1: the restore test
    failed, or the backup was created, but its path cannot be printed or an older backup cannot be
    removed; 2: the backup could not be created.
    """
    from lamplighter.repository.upkeep.copies import DamagedCopy
    from lamplighter.serve.backup import create as backups

    settings = load_settings()
    try:
        with _sigterm_as_interrupt():
            made = backups.make(settings, directory, keep=keep)
    except DamagedCopy as error:
        exit_with_error(f"The restore test failed: {error}.", status=EXIT_FAILED)
    result = {
        "path": str(made.path),
        "bytes": made.bytes,
        "files": len(made.manifest.files),
        "made_at": made.manifest.made_at,
        "database": asdict(made.manifest.database),
        "removed": [str(path) for path in made.removed],
        "not_removed": {str(path): reason for path, reason in made.not_removed.items()},
    }
    with printing_result(f"Created {made.path}."):
        if as_json:
            click.echo(json.dumps(result))
        else:
            _report(_summary(made.manifest))
            print_lines(str(made.path))
            _report(*(f"Removed {path}." for path in made.removed))
    for path, reason in made.not_removed.items():
        _report(f"lamplighter: {path} cannot be removed: {reason}. Remove it yourself.")
    if made.not_removed:
        sys.exit(EXIT_FAILED)


def _summary(made: "Manifest") -> str:
    rows = count_noun(sum(made.database.tables.values()), "row")
    sessions = sum(name.endswith(".jsonl") for name in made.files)
    files = count_noun(sessions, "session file")
    return f"Backed up {rows} and {files}. The restore test passed."


@click.command(cls=OutcomeCommand)
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Replace the home's data; the old data is moved aside."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON at the end, and no progress.")
def restore(path: Path, *, replace: bool, as_json: bool) -> None:
    """Restore the backup at PATH into the home and its database.

    Stop Lamplighter first. Exit status 0: restored; 1: restored, but the result cannot be
    printed; 2: failed, and nothing changed, or interrupted: the error states which.
    """
    from lamplighter.serve.backup import restore as restoring

    settings = load_settings()
    report: Callable[[str], None] = (lambda text: None) if as_json else _report
    with _sigterm_as_interrupt():
        restored = restoring.restore(settings, path, replace=replace, report=report)
    aside = str(restored.replaced) if restored.replaced else None
    result = {
        "home": str(settings.home),
        "backup": str(path),
        "made_at": restored.manifest.made_at,
        "revision": restored.revision,
        "replaced": aside,
    }
    moved = f"The previous data was moved to {aside}." if aside else ""
    with printing_result(f"Restored {path}. {moved}".rstrip()):
        if as_json:
            click.echo(json.dumps(result))
        elif moved:
            print_lines(moved, err=True)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: unfinished files are removed, and an error names the state."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _report(*lines: str) -> None:
    try:
        print_lines(*lines, err=True)
    except OSError:  # the work does not depend on its report
        discard_output(sys.stderr)
