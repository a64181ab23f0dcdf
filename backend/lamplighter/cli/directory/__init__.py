"""`lamplighter plan`, `apply` and `lint`: memory as code."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamplighter.cli.common import JSON, OutcomeCommand, count_noun, load_settings, print_answer
from lamplighter.domain.errors import EXIT_FAILED

if TYPE_CHECKING:
    from lamplighter.domain.directory.lint import LintFinding

DIRECTORY: Final = click.argument("directory", type=click.Path(path_type=Path))
PREFER: Final = click.option(
    "--prefer", type=click.Choice(["directory", "database"]), help="Which side wins a conflict."
)
LINT_FORMATS: Final = ("text", "github", "json")
VERBS: Final = {"create": "add", "change": "change", "remove": "remove"}
MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
PROPERTY: Final = MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})
"""The characters that end a message or a property of an annotation of GitHub."""


@click.command(cls=OutcomeCommand)
@DIRECTORY
@PREFER
@JSON
def plan(directory: Path, prefer: str | None, *, as_json: bool) -> None:
    """Show what applying DIRECTORY would change, and how the next prompts would change.

    Exit status 1: a file cannot be applied.
    """
    _run(directory, prefer, dry_run=True, as_json=as_json)


@click.command(cls=OutcomeCommand)
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
    print_answer(found, _lines(found, dry_run=dry_run), as_json=as_json)
    sys.exit(EXIT_FAILED if found["refused"] else 0)


def _lines(result: dict[str, Any], *, dry_run: bool) -> Iterator[str]:
    for each in result["changes"]:
        fields = f" ({', '.join(each['fields'])})" if each["action"] == "change" else ""
        yield f"{VERBS[each['action']]:<7} {each['path']}{fields}"
    for each in result["refused"]:
        yield f"refused {each['path']}: {each['error']}"
    for each in result["effects"]:
        yield f"Next prompt, {each['scope']}:"
        yield from each["text"].splitlines()
    if not dry_run and any(each["review"] for each in result["refused"]):
        yield "Decide on the Reviews page, or with --prefer."
    changes = count_noun(len(result["changes"]), "change")
    if dry_run:
        yield f"{changes} to apply. Nothing was changed."
    elif result["act"] is None:
        yield "Nothing was applied." if result["refused"] else "There was nothing to apply."
    else:
        yield f"Applied {changes}."


@click.command(cls=OutcomeCommand)
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
    lines = [_finding(finding, line, directory, form) for finding, line in report.findings]
    if form == "text":
        lines.append(f"Files: {report.files:,}. Errors: {errors:,}. Warnings: {warnings:,}.")
    print_answer(report.as_json(), lines, as_json=form == "json")
    sys.exit(EXIT_FAILED if errors or (strict and warnings) else 0)


def _finding(each: "LintFinding", line: int, directory: Path, form: str) -> str:
    if form == "text":
        return f"{each.path}:{line}: {each.level} [{each.rule}] {each.message}"
    path = (directory / each.path).as_posix().translate(PROPERTY)
    text = each.message.translate(MESSAGE)
    return f"::{each.level} file={path},line={line},title={each.rule}::{text}"
