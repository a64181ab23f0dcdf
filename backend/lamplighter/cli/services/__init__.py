"""`lamplighter checks`: the results of scheduled checks."""

from collections.abc import Mapping
from typing import Any, Final

import click

from lamplighter.cli.common import JSON, CliCommand, print_json, read
from lamplighter.config.readers import duration
from lamplighter.domain.text import escape_terminal

ROWS: Final = 20


def parse_span(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> float | None:
    """Read a duration; None where none was passed."""
    try:
        return None if value is None else duration(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} {error}") from error


def describe_silence(silence: Mapping[str, Any]) -> str:
    """Return why and until when a service is silent, in a few words."""
    word = "paused" if silence["kind"] == "pause" else "maintenance"
    end = silence["until"]
    until = f" until {end[:10]} {end[11:19]} UTC" if end else ""
    return f"{word}{until}{f' ({reason})' if (reason := silence['reason']) else ''}"


@click.command(cls=CliCommand)
@click.argument("service")
@click.option("--check", help="Only this check.")
@click.option(
    "--since", "seconds", default="1h", show_default=True, callback=parse_span, help="How far back."
)
@click.option(
    "--resolution", type=click.Choice(["raw", "5m", "1d"]), help="Default: chosen by the time span."
)
@click.option("--limit", type=click.IntRange(1, 5_000), default=ROWS, show_default=True)
@JSON
def checks(
    service: str,
    check: str | None,
    seconds: float,
    resolution: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """Show the results of a service's scheduled checks, the newest last."""
    answer = read(
        "services.read_series",
        service=service,
        check=check,
        seconds=seconds,
        resolution=resolution,
        limit=limit,
    )
    if as_json:
        print_json(answer)
        return
    for each in answer["checks"]:
        click.echo(escape_terminal(_head(each)))
        for point in each["points"]:
            click.echo(escape_terminal(f"  {_point(point)}"))
        for span in each["aggregates"]:
            click.echo(escape_terminal(f"  {_span(span)}"))
    if not answer["checks"]:
        away = read("services.status")["supervisor"] == "away"
        reason = ". Start the supervisor to run the checks." if away else ": no check has ended."
        click.echo(f"No results yet{reason}")


def _head(each: dict[str, Any]) -> str:
    last = f", last checked {_time(each['checked_at'])}" if each["checked_at"] else ""
    why = f": {each['detail']}" if each["detail"] else ""
    return f"{each['check']} ({each['kind']}) {each['state']}{last}{why}"


def _point(point: dict[str, Any]) -> str:
    parts = [
        f"{point['latency_ms']:g} ms" if point["latency_ms"] is not None else "",
        f"status {point['status']}" if point["status"] is not None else "",
        f"{point['attempts']} attempts" if point["attempts"] > 1 else "",
        f"began {point['late_ms'] / 1000:.1f} s late" if point["late_ms"] else "",
        "in maintenance or paused" if point["silent"] else "",
        point["detail"],
    ]
    return f"{_time(point['at'])}  {point['state']:<7}  {', '.join(filter(None, parts))}".rstrip()


def _span(span: dict[str, Any]) -> str:
    results = "result" if span["count"] == 1 else "results"
    failures = "failure" if span["failures"] == 1 else "failures"
    counts = f"{span['count']:,} {results}, {span['failures']:,} {failures}"
    if span["silent"]:
        counts += f", {span['silent']:,} in maintenance or paused"
    if span["p50_ms"] is None:
        return f"{_time(span['at'])}  {counts}"
    times = f"p50 {span['p50_ms']:g} ms, p95 {span['p95_ms']:g} ms, max {span['max_ms']:g} ms"
    return f"{_time(span['at'])}  {counts}, {times}"


def _time(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:19]}"


def describe_problem(problem: Mapping[str, Any]) -> str:
    """Return a mistake in services.yaml with its place."""
    return f"{problem['path']}:{problem['line']}:{problem['column']}: {problem['message']}"
