"""`lamplighter plan`, `apply` and `lint`: memory as code."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamplighter.cli.common import JSON, CliCommand, load_settings, print_json
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.domain.directory.lint import LintFinding

DIRECTORY: Final = click.argument("directory", type=click.Path(path_type=Path))
PREFER: Final = click.option(
    "--prefer", type=click.Choice(["directory", "database"]), help="Which side wins a conflict."
)
LINT_FORMATS: Final = ("text", "github", "json")
VERBS: Final = {"create": "add", "change": "change", "remove": "remove"}


@click.command(cls=CliCommand)
@DIRECTORY
@PREFER
@JSON
def plan(directory: Path, prefer: str | None, *, as_json: bool) -> None:
    """Show what applying DIRECTORY would change, and how the next prompts would change.

    Exit status 1: a file cannot be applied.
    """
    _run(directory, prefer, dry_run=True, as_json=as_json)


@click.command(cls=CliCommand)
@DIRECTORY
@PREFER
@JSON
def apply(directory: Path, prefer: str | None, *, as_json: bool) -> None:
    """Merge the edits of DIRECTORY into the memories, in one act.

    Edits of the memories survive. A file that was changed on both sides is not applied
    (exit status 1) unless --prefer decides.
    """
    _run(directory, prefer, dry_run=False, as_json=as_json)


def _run(directory: Path, prefer: str | None, *, dry_run: bool, as_json: bool) -> None:
    from lamplighter.domain.directory.merge import Side
    from lamplighter.serve.commands import directory as command

    side = None if prefer is None else Side(prefer)
    found = command.apply(load_settings(), directory, prefer=side, dry_run=dry_run)
    if as_json:
        print_json(found)
    else:
        _print(found, dry_run=dry_run)
    sys.exit(EXIT_FAILED if found["refused"] else 0)


def _print(result: dict[str, Any], *, dry_run: bool) -> None:
    for each in result["changes"]:
        fields = f" ({', '.join(each['fields'])})" if each["action"] == "change" else ""
        click.echo(escape_terminal(f"{VERBS[each['action']]:<7} {each['path']}{fields}"))
    for each in result["refused"]:
        click.echo(escape_terminal(f"refused {each['path']}: {each['error']}"))
    for each in result["effects"]:
        click.echo(escape_terminal(f"Next prompt, {each['scope']}:"))
        for line in each["text"].splitlines():
            click.echo(escape_terminal(line))
    if not dry_run and any(each["review"] for each in result["refused"]):
        click.echo("Decide on the Reviews page, or with --prefer.")
    count = len(result["changes"])
    noun = "change" if count == 1 else "changes"
    if dry_run:
        click.echo(f"{count:,} {noun} to apply. Nothing was changed.")
    elif result["act"] is None:
        click.echo("There was nothing to apply.")
    else:
        click.echo(f"Applied {count:,} {noun}.")


@click.command(cls=CliCommand)
@DIRECTORY
@click.option("--format", "form", type=click.Choice(LINT_FORMATS), default="text")
@click.option("--strict", is_flag=True, help="Fail for warnings, too.")
def lint(directory: Path, form: str, *, strict: bool) -> None:
    """Check the memory files of DIRECTORY, also without a database.

    Errors: secrets, contradictions, fields and files that cannot be read. Warnings:
    duplicates, undeclared services, memories beyond the budget of the prompt. Exit status 1:
    there are errors.
    """
    from lamplighter.domain.directory.lint import LintLevel
    from lamplighter.serve.commands import directory as command

    report = command.check(load_settings(), directory)
    errors, warnings = (report.count(each) for each in (LintLevel.ERROR, LintLevel.WARNING))
    if form == "json":
        print_json(report.as_json())
    else:
        for finding, line in report.findings:
            click.echo(_finding(finding, line, directory, form))
    if form == "text":
        click.echo(f"Files: {report.files:,}. Errors: {errors:,}. Warnings: {warnings:,}.")
    sys.exit(EXIT_FAILED if errors or (strict and warnings) else 0)


def _finding(each: "LintFinding", line: int, directory: Path, form: str) -> str:
    if form == "text":
        return escape_terminal(f"{each.path}:{line}: {each.level} [{each.rule}] {each.message}")
    path = _property((directory / each.path).as_posix())
    text = each.message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escape_terminal(f"::{each.level} file={path},line={line},title={each.rule}::{text}")


def _property(text: str) -> str:
    """Return a value of an annotation, without its terminator."""
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        text = text.replace(character, code)
    return text
