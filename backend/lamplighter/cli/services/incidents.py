"""`lamplighter incidents` and `lamplighter status`: failures, repairs, and requests to you."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from lamplighter.cli.common import (
    JSON,
    ROW_ID,
    CliCommand,
    CliGroup,
    OutcomeCommand,
    WholeNumber,
    exit_with_error,
    load_settings,
    print_answer,
    read,
)
from lamplighter.cli.services import describe_problem, describe_silence
from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNKNOWN, Invalid
from lamplighter.domain.text import shorten

NUMBER = click.argument("number", metavar="ID", type=ROW_ID)
OUTCOMES: Final = ("repaired_by_person", "recovered", "unresolved")
LINE_CHARS: Final = 160
STATES: Final = ("failing", "warning", "unknown", "ok")
MAX_HEALTHY: Final = 20
"""More healthy services are one line: otherwise the lines above them would scroll away."""


@click.group(invoke_without_command=True, cls=CliGroup)
@click.option("--all", "whole", is_flag=True, help="Include resolved incidents.")
@click.option("--service", help="Only incidents of this service.")
@click.option("--limit", type=WholeNumber(1, 200), default=20, show_default=True)
@JSON
@click.pass_context
def incidents(
    context: click.Context, *, whole: bool, service: str | None, limit: int, as_json: bool
) -> None:
    """List open incidents, or show and change one."""
    if context.invoked_subcommand:
        return
    items = read("services.list_incidents", whole=whole, service=service, limit=limit)["items"]
    nothing = "There are no incidents." if whole else "There are no open incidents."
    print_answer(items, map(_line, items) if items else [nothing], as_json=as_json)


@incidents.command()
@NUMBER
@JSON
def show(number: int, *, as_json: bool) -> None:
    """Show an incident with its timeline."""
    incident = read("services.get_incident", number=number)
    print_answer(incident, _incident_lines(incident), as_json=as_json)


def _incident_lines(incident: Mapping[str, Any]) -> Iterator[str]:
    yield f"Incident {incident['id']}, {_state(incident)}: {incident['title']}"
    yield f"Services: {', '.join(incident['services'])}"
    yield f"Severity: {incident['severity']}"
    if incident["note"]:
        yield f"Note: {incident['note']}"
    for item in incident["timeline"]:
        where = f" {item['service']}" if item["service"] else ""
        words = _in_words(item["text"]) if item["kind"] == "state" else f"{item['text']}"
        text = " ".join(words.split())
        yield f"  {item['at'][11:19]}  {item['kind'].replace('_', ' ')}{where}  {text}".rstrip()
    for each in incident["memories_learned"]:
        yield f"  Learned: {each['text']} (memory {each['id']})"
    for each in incident["memories_changed"]:
        yield f"  {each['change'].title()}: {each['text']} (memory {each['id']})"


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
    memories = "With the current memories" if today else "With the memories of that time"
    left_out = f"Without memory {', '.join(map(str, without))}"
    lines = _replay_lines(result, memories, left_out)
    print_answer(result, lines, as_json=as_json)


def _replay_lines(result: Mapping[str, Any], memories: str, left_out: str) -> Iterator[str]:
    incident = result["incident"]
    yield f"Incident {incident['id']}, {_state(incident)}: {incident['title']}"
    for head, found in ((memories, result["decision"]), (left_out, result["without"])):
        if found:
            yield f"{head}: {_decision(found)}"
            for each in found["refused"]:
                yield f"  Refused: {each['action']}. {_source(each)}"


def _decision(found: Mapping[str, Any]) -> str:
    if found["begins"] == "known_fix":
        fix = found["fix"]
        return f"tier 3 runs {fix['action']} at once. {_source(fix)}"
    if found["begins"] == "person":
        return "a person is notified at once: no declared action is known to help."
    return "tier 1 begins an investigation."


def _source(each: Mapping[str, Any]) -> str:
    return f"{each['sentence']} (memory {each['memory_id']})"


@click.command(cls=OutcomeCommand)
@JSON
def status(*, as_json: bool) -> None:
    """Show the status: services, incidents, and what needs you.

    Exit status 1 when a service fails, a person is needed, services.yaml has a mistake, or no
    supervisor runs; 3 when nothing fails, but a service has no check result yet. Services that are
    paused do not count.
    """
    found = read("services.status")
    code = _exit_status(found)
    print_answer(found, _status_lines(found, code), as_json=as_json)
    sys.exit(code)


def _exit_status(found: Mapping[str, Any]) -> int:
    states = {each["state"] for each in found["services"] if not each["silence"]}
    needed = found["incidents"] or found["people"] or found["approvals"] or found["problems"]
    if "failing" in states or needed or found["supervisor"] == "away":
        return EXIT_FAILED
    return EXIT_UNKNOWN if "unknown" in states else 0


def _status_lines(summary: Mapping[str, Any], code: int) -> Iterator[str]:
    services = sorted(summary["services"], key=lambda each: STATES.index(each["state"]))
    if code != EXIT_FAILED:
        some = "1 service" if len(services) == 1 else f"{len(services)} services"
        unknown = sum(each["state"] == "unknown" and not each["silence"] for each in services)
        unchecked = f", {unknown} not checked yet" if unknown else ""
        yield f"{some}{unchecked}; no open incident, nothing needs you."
    yield from map(_line, summary["incidents"])
    for each in summary["people"]:
        yield _cut(f"Needs you: {each['service']}: {each['reason']}")
    used = "; its last valid version is used" if services else ""
    for each in summary["problems"]:
        yield f"Needs you: {describe_problem(each)}{used}"
    if summary["approvals"]:
        yield f"Approvals waiting: {summary['approvals']} (lamplighter approvals)"
    yield from _service_lines(services)
    if summary["supervisor"] == "away":
        yield "The supervisor is not running: nothing is checked."


def _service_lines(services: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    healthy = sum(map(_is_healthy, services))
    for each in services:
        if healthy > MAX_HEALTHY and _is_healthy(each):
            continue
        checked = f"checked {each['checked']}" if each["checked"] else "not checked yet"
        silence = f"  {describe_silence(each['silence'])}" if each["silence"] else ""
        yield f"  {each['service']:<24} {each['state']:<8} {checked}{silence}"
    if healthy > MAX_HEALTHY:
        yield f"  {healthy} services are ok (lamplighter services)"


def _is_healthy(each: Mapping[str, Any]) -> bool:
    return each["state"] == "ok" and not each["silence"]


def _change(number: int, **values: Any) -> None:
    from lamplighter.serve.commands import decisions as command
    from lamplighter.usecases.system.incident_changes import IncidentChange

    wanted: IncidentChange = IncidentChange(**values)
    command.change(load_settings(), number, wanted)


def _line(each: Mapping[str, Any]) -> str:
    return _cut(f"{each['id']:>5}  {each['started']:<20}  {_state(each):<22}  {each['title']}")


def _state(each: Mapping[str, Any]) -> str:
    return _in_words(each["outcome"] or each["state"])


def _in_words(state: str) -> str:
    return "needs a person" if state == "needs_person" else state.replace("_", " ")


def _cut(text: str) -> str:
    """Return one line, cut to the width of the terminal."""
    try:
        width = os.get_terminal_size().columns or LINE_CHARS
    except OSError:
        width = LINE_CHARS
    return shorten(text.replace("\n", " "), width)
