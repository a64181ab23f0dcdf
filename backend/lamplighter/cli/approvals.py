"""`lamplighter approvals`: what sessions want to do, and a person's yes or no to it."""

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
NOTE = click.option("--note", default="", help="Words that the session is told.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _exit_when_closed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a case that waits no more be exit status 1."""

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
@click.option("--all", "whole", is_flag=True, help="Those that wait no more too, newest first.")
@JSON
@click.pass_context
@report_errors
def approvals(context: click.Context, *, whole: bool, as_json: bool) -> None:
    """List what waits for your yes or no, or answer it.

    Exit status 0: done; 1: it waits no more; 2: it could not be done.
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
        click.echo("Nothing waits for you.")
    elif not whole:
        click.echo(f"Answer: lamplighter approvals approve {found[0].id}, or deny, or edit.")


@approvals.command()
@NUMBER
@JSON
@report_errors
def show(number: int, *, as_json: bool) -> None:
    """Show all that helps to decide on a case."""
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
    """Say yes: the command runs once, now."""
    found = _decide(number, ApprovalAnswer(choice=ApprovalChoice.APPROVE, note=note))
    click.echo(f"Approved: {escape_terminal(shlex.join(found.shown))}")


@approvals.command()
@NUMBER
@NOTE
@_exit_when_closed
def deny(number: int, note: str) -> None:
    """Say no."""
    _decide(number, ApprovalAnswer(choice=ApprovalChoice.DENY, note=note))
    click.echo("Denied.")


@approvals.command()
@NUMBER
@NOTE
@click.option("--approve", "at_once", is_flag=True, help="Say yes to it at once.")
@click.argument("argv", nargs=-1)
@_exit_when_closed
def edit(number: int, note: str, argv: tuple[str, ...], *, at_once: bool) -> None:
    """Put another command in its place: ... edit 3 -- docker restart web. Prints its number."""
    if not argv and not note:
        raise click.UsageError(f"Write the command after two dashes: ... edit {number} -- COMMAND")
    answer = ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=argv or None, note=note)
    found = _decide(number, answer, at_once=at_once)
    click.echo(str(found.id))
    word = "Approved" if at_once else "Waits for a yes"
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
    yield f"    asked    by session {each.session_id} at {since}, until {until}"
    where = each.directory or "/"
    edited = ", as a person wrote it" if each.edited else ""
    yield f"    runs     {shlex.join(each.shown)}  (in {where}{edited})"
    if each.reason:
        yield f"    because  session {each.session_id} says: {one_line(each.reason)}"
    if each.note:
        yield f"    note     {one_line(each.note)}"


def _state(each: Approval, *, now: datetime) -> str:
    if each.state is not ApprovalState.OPEN:
        return each.became
    if each.expired(now=now):
        return "its time is over"
    return f"waits {each.seconds_left(now=now):.0f} s more"


def _evidence(found: "ApprovalDetails", *, now: datetime) -> Iterator[str]:
    if found.standing:
        yield f"    cooldown {cooldown.describe_slots(found.standing, now=now)}"
    if not found.told:
        yield f"    told     nothing about {found.approval.service}"
    for each in found.told:
        yield f"    told     memory {each.id}, {each.confidence:.2f}: {one_line(each.observation)}"
