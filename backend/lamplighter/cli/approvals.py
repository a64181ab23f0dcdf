"""`lamplighter approvals`: list, approve, deny or edit the actions that sessions request."""

import shlex
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from lamplighter.cli.common import JSON, ROW_ID, CliGroup, load_settings, print_json, read
from lamplighter.domain.errors import EXIT_FAILED, Conflict
from lamplighter.domain.text import escape_terminal, one_line

if TYPE_CHECKING:
    from lamplighter.domain.actions.approval import Approval

NUMBER = click.argument("number", metavar="ID", type=ROW_ID)
NOTE = click.option("--note", default="", help="A note for the session.")


def _exit_when_closed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Exit with status 1 if the approval is no longer pending."""

    @wraps(command)
    def run(*value: Any, **more: Any) -> Any:
        try:
            return command(*value, **more)
        except Conflict as error:
            click.echo(f"lamplighter: {escape_terminal(str(error))}", err=True)
            sys.exit(EXIT_FAILED)

    return run


@click.group(invoke_without_command=True, cls=CliGroup)
@click.option(
    "--all", "whole", is_flag=True, help="Include decided and expired approvals, newest first."
)
@JSON
@click.pass_context
def approvals(context: click.Context, *, whole: bool, as_json: bool) -> None:
    """List actions waiting for your approval, or decide on them.

    Exit status 0: done; 1: no longer pending; 2: failed.
    """
    if context.invoked_subcommand:
        return
    items = read("approvals.list_approvals", whole=whole)["items"]
    if as_json:
        print_json([each["approval"] for each in items])
        return
    for each in items:
        _print(_lines(each))
    if not items:
        click.echo("No approvals waiting.")
    elif not whole:
        first = items[0]["approval"]["id"]
        click.echo(f"Decide: lamplighter approvals approve {first} (or deny, edit).")


@approvals.command()
@NUMBER
@JSON
def show(number: int, *, as_json: bool) -> None:
    """Show an approval and its evidence."""
    answer = read("approvals.get_approval", number=number)
    if as_json:
        included = answer["told"]
        replaced_by = answer["replaced_by"]
        print_json({**answer["approval"], "replaced_by": replaced_by, "told": included})
        return
    _print(_lines(answer))
    _print(_evidence(answer))


@approvals.command()
@NUMBER
@NOTE
@_exit_when_closed
def approve(number: int, note: str) -> None:
    """Approve a request. The command runs once, now."""
    found = _decide(number, "approve", note=note)
    click.echo(f"Approved: {escape_terminal(shlex.join(found.masked_argv))}")


@approvals.command()
@NUMBER
@NOTE
@_exit_when_closed
def deny(number: int, note: str) -> None:
    """Deny a request. The command does not run."""
    _decide(number, "deny", note=note)
    click.echo("Denied.")


@approvals.command()
@NUMBER
@NOTE
@click.option("--approve", "at_once", is_flag=True, help="Approve the new command too.")
@click.argument("argv", nargs=-1)
@_exit_when_closed
def edit(number: int, note: str, argv: tuple[str, ...], *, at_once: bool) -> None:
    """Replace the command: ... edit 3 -- docker restart web. Prints the new approval's ID."""
    if not argv and not note:
        raise click.UsageError(
            f"The command is missing. Write it after two dashes: ... edit {number} -- COMMAND"
        )
    found = _decide(number, "edit", argv=argv or None, note=note, at_once=at_once)
    click.echo(str(found.id))
    word = "Approved" if at_once else "Waiting for approval"
    click.echo(f"{word}: {escape_terminal(shlex.join(found.masked_argv))}", err=True)


def _decide(
    number: int,
    choice: str,
    *,
    note: str,
    argv: tuple[str, ...] | None = None,
    at_once: bool = False,
) -> "Approval":
    from lamplighter.domain.actions.approval import ApprovalAnswer, ApprovalChoice
    from lamplighter.serve.commands import decisions as cases

    answer = ApprovalAnswer(choice=ApprovalChoice(choice), argv=argv, note=note)
    return cases.decide(load_settings(), number, answer, at_once=at_once)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(escape_terminal(line))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    each = found["approval"]
    session, where = each["session_id"], each["directory"] or "/"
    edited = ", edited by a person" if each["edited"] else ""
    yield f"Approval {each['id']}: {found['request']}, {found['state']}"
    yield f"    request  by session {session} at {found['created']}, expires {found['expires']}"
    yield f"    command  {shlex.join(each['argv'])}  (in {where}{edited})"
    if each["reason"]:
        yield f"    reason   session {session} reports: {one_line(each['reason'])}"
    if each["note"]:
        yield f"    note     {one_line(each['note'])}"


def _evidence(answer: dict[str, Any]) -> Iterator[str]:
    if answer["replaced_by"]:
        yield f"    replaced by approval {answer['replaced_by']}"
    if answer["cooldown"]:
        yield f"    cooldown {answer['cooldown']}"
    if not answer["told"]:
        yield f"    evidence no memories about {answer['approval']['service']}"
    for each in answer["told"]:
        words = one_line(each["observation"])
        yield f"    evidence memory {each['id']}, {each['confidence']:.2f}: {words}"
