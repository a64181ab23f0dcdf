"""`lamplighter run`, `sessions` and `events`: run a session, and list sessions and events."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from lamplighter.cli.common import (
    JSON,
    CliCommand,
    OutcomeCommand,
    WholeNumber,
    exit_with_error,
    load_settings,
    print_answer,
    print_json,
    print_lines,
    read,
)
from lamplighter.cli.services import parse_span
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.limits import ENGINES
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import SessionPlan, Status, Trigger
from lamplighter.domain.text import shorten

SERVICE = click.option("--service", help="Only this service.")
LIMIT = click.option("--limit", type=WholeNumber(1, 200), default=20, show_default=True)
SPAN = click.option("--since", "seconds", callback=parse_span, help="How far back, such as 2h.")
LINE_CHARS = 160


@click.command(cls=OutcomeCommand)
@click.option(
    "--tier",
    type=WholeNumber(1, 3),
    default=1,
    show_default=True,
    help="1: observe, 2: investigate, 3: remediate.",
)
@click.option("--engine", type=click.Choice(ENGINES), help="Override LAMPLIGHTER_ENGINE.")
@click.option("--services", help="Only these services, comma-separated.")
@click.option("--prompt", help="Instructions for the session.")
@click.option("--dry-run", is_flag=True, help="Report actions without running them.")
@click.option("--json", "as_json", is_flag=True, help="Print the session as JSON at the end.")
def run(
    tier: int,
    engine: str | None,
    services: str | None,
    prompt: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run one session now, and any sessions it escalates to.

    Exit status 0: completed; 1: failed, or a person is needed; 2: the session could not be started,
    or this command was stopped while another process was to run it.
    """
    from lamplighter.formats import serialize
    from lamplighter.serve import supervisor as rounds

    names = None if services is None else tuple(filter(None, map(str.strip, services.split(","))))
    if prompt is not None and not prompt.strip():
        exit_with_error("--prompt is empty")
    if names == ():
        exit_with_error("--services names no service")
    plan = SessionPlan(
        tier=tier, trigger=Trigger.MANUAL, services=names, prompt=prompt or "", dry_run=dry_run
    )
    ran = rounds.run_once(
        load_settings(),
        plan,
        engine=engine,
        report=lambda text: None if as_json else print_lines(*text.splitlines()),
    )
    if as_json:
        print_json(serialize.session(ran.first))
    else:
        ended = ". ".join(filter(None, (ran.last.outcome or ran.last.status, ran.last.reason)))
        print_lines(f"Session {ran.last.id}: {ended}", err=True)
    well = ran.last.status in (Status.COMPLETED, Status.ESCALATED) and not ran.person
    sys.exit(0 if well else EXIT_FAILED)


@click.command(cls=CliCommand)
@SERVICE
@click.option("--status", type=click.Choice([each.value for each in Status]))
@click.option("--tier", type=WholeNumber(1, 3))
@SPAN
@LIMIT
@JSON
def sessions(*, as_json: bool, **options: Any) -> None:
    """List sessions with their outcomes, newest first."""
    found = read("activity.list_sessions", **options)
    _print_rows(found, "sessions", _session, as_json=as_json)


@click.command(cls=CliCommand)
@SERVICE
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice([each.value for each in Level]),
    help="Only this level; may be repeated.",
)
@click.option("--q", "words", help="Only events that contain this text.")
@SPAN
@LIMIT
@JSON
def events(*, as_json: bool, **options: Any) -> None:
    """List events, newest first."""
    found = read("activity.list_events", **options)
    _print_rows(found, "events", _event, as_json=as_json)


def _print_rows(
    answer: Mapping[str, Any],
    what: str,
    line: Callable[[Mapping[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    items = answer["items"]
    print_answer(items, map(line, items) if items else [f"No {what} found."], as_json=as_json)
    if answer["more"] and not as_json:
        click.echo(f"Older {what} are not shown; see --limit.", err=True)


def _session(each: Mapping[str, Any]) -> str:
    words = each["outcome"] or each["status"].replace("_", " ")
    services = "" if each["services"] is None else f"  ({', '.join(each['services'])})"
    what = f"tier {each['tier']}, {each['trigger'].replace('_', ' ')}"
    text = shorten(" ".join(words.split()), LINE_CHARS)
    return f"{each['id']:>6}  {each['started']:<20}  {what:<20}  {text}{services}"


def _event(each: Mapping[str, Any]) -> str:
    text = shorten(" ".join(each["text"].split()), LINE_CHARS)
    return f"{each['at']:<20}  {each['level']:<8}  {each['service'] or '-':<16}  {text}"
