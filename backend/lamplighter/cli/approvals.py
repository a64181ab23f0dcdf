"""`lamplighter approvals`: list, approve, deny or edit the actions that sessions request."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from lamplighter import clock
from lamplighter.cli.common import load_settings, report_errors
from lamplighter.domain.actions.approval import (
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.errors import EXIT_FAILED, Conflict
from lamplighter.domain.services import cooldown
from lamplighter.domain.text import escape_terminal, one_line
from lamplighter.domain.text import format_time as clock_time

if TYPE_CHECKING:
    from lamplighter.serve.commands.approvals import ApprovalDetails

NUMBER = click.argument("number", metavar="ID", type=click.IntRange(1, 2**63 - 1))
NOTE = click.option("--note", default="", help="A note for the session.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _exit_when_closed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Exit with status 1 if the approval is no longer pending."""

    @report_errors
    @wraps(command)
    def run(*given: Any, **more: Any) -> Any:
        try:
            return command(*given, **more)
        except Conflict as error:
            click.echo(f"lamplighter: {escape_terminal(str(error))}", err=True)
            sys.exit(EXIT_FAILED)

    return run


@click.group(invoke_without_command=True)
@click.option(
    "--all", "whole", is_flag=True, help="Include decided and expired approvals, newest first."
)
@JSON
@click.pass_context
@report_errors
def approvals(context: click.Context, *, whole: bool, as_json: bool) -> None:
    """List actions waiting for your approval, or decide on them.

    Exit status 0: done; 1: no longer pending; 2: failed.
    """
    from lamplighter.formats import serialize
    from lamplighter.serve.commands import approvals as cases

    if context.invoked_subcommand:
        return
    found, now = cases.list_approvals(load_settings(), whole=whole), clock.now()
    if as_json:
        click.echo(json.dumps([serialize.approval(each) for each in found], ensure_ascii=False))
        return
    for each in found:
        _print(_lines(each, now=now))
    if not found:
        click.echo("No approvals waiting.")
    elif not whole:
        click.echo(f"Decide: lamplighter approvals approve {found[0].id} (or deny, edit).")


@approvals.command()
@NUMBER
@JSON
@report_errors
def show(number: int, *, as_json: bool) -> None:
    """Show an approval and its evidence."""
    from lamplighter.formats import serialize
    from lamplighter.serve.commands import approvals as cases

    found = cases.get_approval(load_settings(), number)
    if as_json:
        told = [serialize.memory(each) for each in found.told]
        click.echo(
            json.dumps({**serialize.approval(found.approval), "told": told}, ensure_ascii=False)
        )
        return
    _print(_lines(found.approval, now=clock.now()))
    _print(_evidence(found, now=clock.now()))


@approvals.command()
@NUMBER
@NOTE
@_exit_when_closed
def approve(number: int, note: str) -> None:
    """Approve a request. The command runs once, now."""
    found = _decide(number, ApprovalAnswer(choice=ApprovalChoice.APPROVE, note=note))
    click.echo(f"Approved: {escape_terminal(shlex.join(found.shown))}")


@approvals.command()
@NUMBER
@NOTE
@_exit_when_closed
def deny(number: int, note: str) -> None:
    """Deny a request. The command does not run."""
    _decide(number, ApprovalAnswer(choice=ApprovalChoice.DENY, note=note))
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
    answer = ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=argv or None, note=note)
    found = _decide(number, answer, at_once=at_once)
    click.echo(str(found.id))
    word = "Approved" if at_once else "Waiting for approval"
    click.echo(f"{word}: {escape_terminal(shlex.join(found.shown))}", err=True)


def _decide(number: int, answer: ApprovalAnswer, *, at_once: bool = False) -> Approval:
    from lamplighter.serve.commands import approvals as cases

    return cases.decide(load_settings(), number, answer, at_once=at_once)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(escape_terminal(line))


def _lines(each: Approval, *, now: datetime) -> Iterator[str]:
    yield f"Approval {each.id}: {each.wish}, {_state(each, now=now)}"
    since, until = (clock_time(at, now) for at in (each.created_at, each.expires_at))
    yield f"    request  by session {each.session_id} at {since}, expires {until}"
    where = each.directory or "/"
    edited = ", edited by a person" if each.edited else ""
    yield f"    command  {shlex.join(each.shown)}  (in {where}{edited})"
    if each.reason:
        yield f"    reason   session {each.session_id} reports: {one_line(each.reason)}"
    if each.note:
        yield f"    note     {one_line(each.note)}"


def _state(each: Approval, *, now: datetime) -> str:
    if each.state is not ApprovalState.OPEN:
        return each.became
    if each.expired(now=now):
        return "expired"
    return f"expires in {each.seconds_left(now=now):.0f} s"


def _evidence(found: "ApprovalDetails", *, now: datetime) -> Iterator[str]:
    if found.standing:
        yield f"    cooldown {cooldown.describe_slots(found.standing, now=now)}"
    if not found.told:
        yield f"    evidence no memories about {found.approval.service}"
    for each in found.told:
        yield f"    evidence memory {each.id}, {each.confidence:.2f}: {one_line(each.observation)}"
