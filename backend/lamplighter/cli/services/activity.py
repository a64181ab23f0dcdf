"""`lamplighter sessions` and `lamplighter events`: what was done and what happened."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from lamplighter.cli.common import JSON, CliCommand, print_json, read
from lamplighter.cli.services import parse_span
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import Status
from lamplighter.domain.text import escape_terminal, shorten

SERVICE = click.option("--service", help="Only those of this service.")
LIMIT = click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
SPAN = click.option("--since", "seconds", callback=parse_span, help="How far back, such as 2h.")
LINE_CHARS = 160


@click.command(cls=CliCommand)
@SERVICE
@click.option("--status", type=click.Choice([each.value for each in Status]))
@click.option("--tier", type=click.IntRange(1, 3))
@SPAN
@LIMIT
@JSON
def sessions(*, as_json: bool, **options: Any) -> None:
    """List sessions with their outcomes, newest first."""
    found = read("activity.list_sessions", **options)
    if as_json:
        print_json(found["items"])
        return
    _print([_session(each) for each in found["items"]], found, "sessions")


@click.command(cls=CliCommand)
@SERVICE
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice([each.value for each in Level]),
    help="Only this level; may be repeated.",
)
@click.option("--q", "words", help="Only those whose text contains this.")
@SPAN
@LIMIT
@JSON
def events(*, as_json: bool, **options: Any) -> None:
    """List events, newest first."""
    found = read("activity.list_events", **options)
    if as_json:
        print_json(found["items"])
        return
    _print([_event(each) for each in found["items"]], found, "events")


def _print(lines: Sequence[str], found: Mapping[str, Any], what: str) -> None:
    for line in lines:
        click.echo(escape_terminal(line))
    if not lines:
        click.echo(f"No {what} found.")
    if found["more"]:
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
