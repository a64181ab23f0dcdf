"""`lamplighter services`: the declared services, their pauses, and the keys of push checks."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from lamplighter.cli.common import (
    JSON,
    CliGroup,
    WholeNumber,
    load_settings,
    print_answer,
    print_lines,
    read,
)
from lamplighter.cli.services import describe_problem, describe_silence, parse_span
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.limits import UPTIME_DAYS
from lamplighter.domain.text import shorten

BODY_CHARS: Final = 200


@click.group(invoke_without_command=True, cls=CliGroup)
@click.pass_context
def services(context: click.Context) -> None:
    """List services, or show, pause and resume one, and create the keys of push checks."""
    if not context.invoked_subcommand:
        context.invoke(list_)


@services.command("list")
@click.option("--group", help="Only services of this group.")
@click.option("--tag", help="Only services with this tag.")
@JSON
def list_(group: str | None, tag: str | None, *, as_json: bool) -> None:
    """List the services with their states.

    Exit status 1: services.yaml has errors.
    """
    found = read("services.list_services", group=group, tag=tag)
    items, problems = found["items"], found["problems"]
    print_lines(*map(describe_problem, problems), err=True)
    width = max((len(each["name"]) for each in items), default=0)
    empty = "No services match." if group or tag else "services.yaml declares no services."
    nothing = [] if items or problems else [empty]
    print_answer(items, [_line(each, width) for each in items] or nothing, as_json=as_json)
    sys.exit(EXIT_FAILED if problems else 0)


@services.command()
@click.argument("service")
@JSON
def show(service: str, *, as_json: bool) -> None:
    """Show a service: its status, uptime, latency, actions left, incidents and memories."""
    found = read("services.read_service", service=service)
    print_answer(found, _lines(found), as_json=as_json)


@services.command()
@click.argument("service")
@click.option("--reason", default="", help="The reason, shown with the service.")
@click.option("--for", "seconds", callback=parse_span, help="Such as 2h; default: until resumed.")
def pause(service: str, reason: str, seconds: float | None) -> None:
    """Pause a service: failures are recorded, but start no investigation and no alert."""
    from lamplighter.serve.commands import services as commands

    found = commands.pause(load_settings(), service, reason, seconds=seconds)
    until = f" until {found.until:%Y-%m-%d %H:%M:%S} UTC" if found.until else ""
    print_lines(f"Paused {service}{until}.")


@services.command()
@click.argument("service")
def resume(service: str) -> None:
    """Resume a service that was paused."""
    from lamplighter.serve.commands import services as commands

    left = commands.resume(load_settings(), service)
    more = " A maintenance window is still open." if left else ""
    print_lines(f"Resumed {service}.{more}")


@services.command("push-key")
@click.argument("check", metavar="SERVICE[/CHECK]")
@JSON
def push_key(check: str, *, as_json: bool) -> None:
    """Create the key of a push check. Copy the URL now: it won't be shown again.

    The only push check of a service needs no name. An earlier key of the check ends.
    """
    from lamplighter.serve.commands import services as commands

    service, _, name = check.partition("/")
    key, url = commands.create_push_key(load_settings(), service, name)
    print_answer({"key": key, "url": url}, [url], as_json=as_json)


@services.command()
@click.argument("check", metavar="SERVICE[/CHECK]")
@click.option("--limit", type=WholeNumber(1, 100), default=20, show_default=True)
@JSON
def signals(check: str, limit: int, *, as_json: bool) -> None:
    """List the last signals of a push check with what the job sent, the newest first."""
    service, _, name = check.partition("/")
    items = read("services.list_signals", service=service, check=name, limit=limit)["items"]
    print_answer(items, _signal_lines(items), as_json=as_json)


def _signal_lines(items: list[dict[str, Any]]) -> Iterator[str]:
    cut = False
    for each in items:
        status = "" if each["exit_status"] is None else f"  exit status {each['exit_status']}"
        yield f"{each['at'][:10]} {each['at'][11:19]}  {each['kind']:<7}{status}".rstrip()
        first, _, more = each["body"].strip().partition("\n")
        if first:
            yield f"  {shorten(first, BODY_CHARS)}"
        cut = cut or bool(more) or len(first) > BODY_CHARS
    if cut:
        yield "Longer bodies are cut; --json prints them whole."
    if not items:
        yield "No signals yet. Create the URL with `lamplighter services push-key`."


def _line(each: Mapping[str, Any], width: int) -> str:
    silence = each["silence"]
    parts = [
        describe_silence(silence) if silence else "",
        f"group {each['group']}" if each["group"] else "",
        " ".join(f"#{tag}" for tag in each["tags"]),
        each["detail"] if each["state"] != "ok" else "",
    ]
    return f"{each['name']:<{width}}  {each['state']:<7}  {', '.join(filter(None, parts))}".rstrip()


def _lines(service: Mapping[str, Any]) -> Iterator[str]:
    yield _line(service, 0)
    if service["depends_on"]:
        yield f"Depends on: {', '.join(service['depends_on'])}"
    latency = {each["check"]: each for each in service["latency"]["checks"]}
    for each in service["checks"]:
        state = {True: "passed", False: "failed", None: "not checked yet"}[each["ok"]]
        median = latency.get(each["name"], {}).get("median_ms")
        parts = [state, each["detail"], "" if median is None else f"median {median:g} ms in 24 h"]
        yield f"Check {each['name']}: {', '.join(filter(None, parts))}"
    shares = [
        f"{days} d {service['uptime'][name]:g} %"
        for name, days in UPTIME_DAYS.items()
        if service["uptime"][name] is not None
    ]
    yield f"Uptime: {', '.join(shares) or 'no results'}"
    for each in service["cooldowns"]:
        names = [
            action["name"] for action in service["actions"] if action["kind"] == each["action"]
        ]
        if names:
            left = max(0, each["limit"] - each["used"])
            yield f"Action {', '.join(names)}: {left} of {each['limit']} left"
    for each in service["incidents"]:
        how = (each["outcome"] or each["state"]).replace("_", " ")
        yield f"Incident {each['id']}: {each['title']} ({how}, began {each['started']})"
    for each in service["strongest_memories"]:
        yield f"Memory {each['id']}: {each['observation']} ({each['confidence']:.2f})"
