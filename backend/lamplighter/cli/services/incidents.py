"""`lamplighter incidents` and `lamplighter status`: failures, repairs, and requests to you."""

import os
import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from lamplighter.cli.common import (
    JSON,
    ROW_ID,
    CliCommand,
    CliGroup,
    exit_with_error,
    load_settings,
    print_json,
    read,
)
from lamplighter.cli.services import describe_problem, describe_silence
from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNKNOWN, Invalid
from lamplighter.domain.text import escape_terminal, shorten

NUMBER = click.argument("number", metavar="ID", type=ROW_ID)
OUTCOMES: Final = ("repaired_by_person", "recovered", "unresolved")
LINE_CHARS: Final = 160
STATES: Final = ("failing", "warning", "unknown", "ok")


@click.group(invoke_without_command=True, cls=CliGroup)
@click.option("--all", "whole", is_flag=True, help="Include resolved incidents.")
@click.option("--service", help="Only incidents of this service.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@JSON
@click.pass_context
def incidents(
    context: click.Context, *, whole: bool, service: str | None, limit: int, as_json: bool
) -> None:
    """List open incidents, or show and change one."""
    if context.invoked_subcommand:
        return
    items = read("services.list_incidents", whole=whole, service=service, limit=limit)["items"]
    if as_json:
        print_json(items)
        return
    for each in items:
        _echo_line(_line(each))
    if not items:
        click.echo("There are no incidents." if whole else "There are no open incidents.")


@incidents.command()
@NUMBER
@JSON
def show(number: int, *, as_json: bool) -> None:
    """Show an incident with its timeline."""
    incident = read("services.get_incident", number=number)
    if as_json:
        print_json(incident)
        return
    _echo(f"Incident {incident['id']}, {_state(incident)}: {incident['title']}")
    _echo(f"Services: {', '.join(incident['services'])}")
    _echo(f"Severity: {incident['severity']}")
    if incident["note"]:
        _echo(f"Note: {incident['note']}")
    for item in incident["timeline"]:
        where = f" {item['service']}" if item["service"] else ""
        words = _in_words(item["text"]) if item["kind"] == "state" else f"{item['text']}"
        text = " ".join(words.split())
        _echo(f"  {item['at'][11:19]}  {item['kind'].replace('_', ' ')}{where}  {text}".rstrip())
    for each in incident["memories_learned"]:
        _echo(f"  Learned: {each['text']} (memory {each['id']})")
    for each in incident["memories_changed"]:
        _echo(f"  {each['change'].title()}: {each['text']} (memory {each['id']})")


@incidents.command()
@NUMBER
def acknowledge(number: int) -> None:
    """Acknowledge an incident."""
    _change(number, acknowledged=True)
    click.echo(f"Incident {number} is acknowledged.")


@incidents.command()
@NUMBER
@click.argument("text")
def note(number: int, text: str) -> None:
    """Write the note of an incident; it replaces the previous one."""
    _change(number, note=text)
    click.echo(f"The note of incident {number} is saved.")


@incidents.command()
@NUMBER
@click.option("--outcome", type=click.Choice(OUTCOMES), default=OUTCOMES[0], show_default=True)
def resolve(number: int, outcome: str) -> None:
    """Close an incident; its services no longer wait for a person."""
    from lamplighter.domain.services.incident import IncidentOutcome

    _change(number, outcome=IncidentOutcome(outcome))
    click.echo(f"Incident {number} is resolved.")


@incidents.command()
@NUMBER
@click.argument("into", type=ROW_ID)
def merge(number: int, into: int) -> None:
    """Make an incident part of another open one."""
    try:
        _change(number, merge_into=into)
    except Invalid as error:
        exit_with_error(*(f"The argument INTO {each.message}." for each in error.wrong))
    click.echo(f"Incident {number} is part of incident {into}.")


@incidents.command()
@NUMBER
def separate(number: int) -> None:
    """Undo a merge while the other incident is open."""
    _change(number, separate=True)
    click.echo(f"Incident {number} is separate again.")


@click.command(cls=CliCommand)
@NUMBER
@click.option("--without", multiple=True, type=ROW_ID, help="Leave out this memory.")
@click.option("--today", is_flag=True, help="Use the current memories, not those of that time.")
@JSON
def replay(number: int, *, without: tuple[int, ...], today: bool, as_json: bool) -> None:
    """Replay the decisions on a past incident with other memories. Nothing is changed."""
    result = read("services.replay_incident", number=number, without=list(without), today=today)
    if as_json:
        print_json(result)
        return
    incident = result["incident"]
    _echo(f"Incident {incident['id']}, {_state(incident)}: {incident['title']}")
    memories = "current memories" if today else "memories of that time"
    _echo(f"With the {memories}: {_decision(result['decision'])}")
    for line in _refusals(result["decision"]):
        _echo(line)
    if result["without"]:
        left = ", ".join(f"{each}" for each in without)
        _echo(f"Without memory {left}: {_decision(result['without'])}")
        for line in _refusals(result["without"]):
            _echo(line)


def _decision(found: Mapping[str, Any]) -> str:
    if found["begins"] == "known_fix":
        fix = found["fix"]
        return f"tier 3 runs {fix['action']} at once. {_source(fix)}"
    if found["begins"] == "person":
        return "a person is notified at once: no declared action is known to help."
    return "tier 1 begins an investigation."


def _refusals(found: Mapping[str, Any]) -> list[str]:
    return [f"  Refused: {each['action']}. {_source(each)}" for each in found["refused"]]


def _source(each: Mapping[str, Any]) -> str:
    return f"{each['sentence']} (memory {each['memory_id']})"


@click.command(cls=CliCommand)
@JSON
def status(*, as_json: bool) -> None:
    """Show the status: services, incidents, and what needs you.

    Exit status 1 when a service fails, a person is needed, services.yaml has a mistake, or no
    supervisor runs; 3 when nothing fails, but a service has no check result yet. Services that are
    paused do not count.
    """
    found = read("services.status")
    code = _exit_status(found)
    if as_json:
        print_json(found)
    else:
        _print_status(found, code)
    sys.exit(code)


def _exit_status(found: Mapping[str, Any]) -> int:
    states = {each["state"] for each in found["services"] if not each["silence"]}
    needed = found["incidents"] or found["people"] or found["approvals"] or found["problems"]
    if "failing" in states or needed or found["supervisor"] == "away":
        return EXIT_FAILED
    return EXIT_UNKNOWN if "unknown" in states else 0


def _print_status(summary: Mapping[str, Any], code: int) -> None:
    services = sorted(summary["services"], key=lambda each: STATES.index(each["state"]))
    if code != EXIT_FAILED:
        some = "1 service" if len(services) == 1 else f"{len(services)} services"
        unknown = sum(each["state"] == "unknown" and not each["silence"] for each in services)
        unchecked = f", {unknown} not checked yet" if unknown else ""
        click.echo(f"{some}{unchecked}; no open incident, nothing needs you.")
    for each in summary["incidents"]:
        _echo_line(_line(each))
    for each in summary["people"]:
        _echo_line(f"Needs you: {each['service']}: {each['reason']}")
    used = "; its last valid version is used" if services else ""
    for each in summary["problems"]:
        _echo(f"Needs you: {describe_problem(each)}{used}")
    if summary["approvals"]:
        click.echo(f"Approvals waiting: {summary['approvals']} (lamplighter approvals)")
    for each in services:
        checked = f"checked {each['checked']}" if each["checked"] else "not checked yet"
        silence = f"  {describe_silence(each['silence'])}" if each["silence"] else ""
        _echo(f"  {each['service']:<24} {each['state']:<8} {checked}{silence}")
    if summary["supervisor"] == "away":
        click.echo("The supervisor is not running: nothing is checked.")


def _change(number: int, **values: Any) -> None:
    from lamplighter.serve.commands import decisions as command
    from lamplighter.usecases.system.incident_changes import IncidentChange

    wanted: IncidentChange = IncidentChange(**values)
    command.change(load_settings(), number, wanted)


def _line(each: Mapping[str, Any]) -> str:
    return f"{each['id']:>5}  {each['started']:<20}  {_state(each):<22}  {each['title']}"


def _state(each: Mapping[str, Any]) -> str:
    return _in_words(each["outcome"] or each["state"])


def _in_words(state: str) -> str:
    return "needs a person" if state == "needs_person" else state.replace("_", " ")


def _echo(text: str) -> None:
    click.echo(escape_terminal(text))


def _echo_line(text: str) -> None:
    """Print one line, cut to the width of the terminal."""
    try:
        width = os.get_terminal_size().columns or LINE_CHARS
    except OSError:
        width = LINE_CHARS
    _echo(shorten(text.replace("\n", " "), width))
