"""`lamplighter approvals`: list, approve, deny or edit the actions that sessions request."""

import shlex
import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from lamplighter.cli.common import JSON, ROW_ID, OutcomeGroup, load_settings, print_answer, read
from lamplighter.cli.common import print_lines as _print
from lamplighter.domain.errors import EXIT_FAILED, Conflict
from lamplighter.domain.text import one_line

if TYPE_CHECKING:
    from lamplighter.domain.actions.approval import Approval

NUMBER = click.argument("number", metavar="ID", type=ROW_ID)
NOTE = click.option("--note", default="", help="A note for the session.")


@click.group(invoke_without_command=True, cls=OutcomeGroup)
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
    found = [each["approval"] for each in items]
    hint = [] if found else ["No approvals waiting."]
    if found and not whole:
        hint = [f"Decide: lamplighter approvals approve {found[0]['id']} (or deny, edit)."]
    print_answer(found, chain(*map(_lines, items), hint), as_json=as_json)


@approvals.command()
@NUMBER
@JSON
def show(number: int, *, as_json: bool) -> None:
    """Show an approval and its evidence."""
    answer = read("approvals.get_approval", number=number)
    found = {**answer["approval"], **{name: answer[name] for name in ("replaced_by", "told")}}
    print_answer(found, chain(_lines(answer), _evidence(answer)), as_json=as_json)


@approvals.command()
@NUMBER
@NOTE
def approve(number: int, note: str) -> None:
    """Approve a request. The command runs once, now."""
    found = _decide(number, "approve", note=note)
    _print(f"Approved: {shlex.join(found.masked_argv)}")


@approvals.command()
@NUMBER
@NOTE
def deny(number: int, note: str) -> None:
    """Deny a request. The command does not run."""
    _decide(number, "deny", note=note)
    click.echo("Denied.")


@approvals.command()
@NUMBER
@NOTE
@click.option("--approve", "at_once", is_flag=True, help="Approve the new command too.")
@click.argument("argv", nargs=-1)
def edit(number: int, note: str, argv: tuple[str, ...], *, at_once: bool) -> None:
    """Replace the command: ... edit 3 -- docker restart web. Prints the new approval's ID."""
    if not argv and not note:
        raise click.UsageError(
            f"The command is missing. Write it after two dashes: ... edit {number} -- COMMAND"
        )
    found = _decide(number, "edit", argv=argv or None, note=note, at_once=at_once)
    click.echo(str(found.id))
    word = "Approved" if at_once else "Waiting for approval"
    _print(f"{word}: {shlex.join(found.masked_argv)}", err=True)


def _decide(number: int, choice: str, *, at_once: bool = False, **values: Any) -> "Approval":
    """Decide on an approval; exit with status 1 if it is no longer pending."""
    from lamplighter.domain.actions.approval import ApprovalAnswer, ApprovalChoice
    from lamplighter.serve.commands import decisions as cases

    answer = ApprovalAnswer(choice=ApprovalChoice(choice), **values)
    try:
        return cases.decide(load_settings(), number, answer, at_once=at_once)
    except Conflict as error:
        _print(f"lamplighter: {error}", err=True)
        sys.exit(EXIT_FAILED)


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
