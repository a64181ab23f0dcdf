"""`lamplighter checks`: the results of scheduled checks."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from lamplighter.cli.common import JSON, CliCommand, WholeNumber, count_noun, print_answer, read
from lamplighter.config.readers import duration

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
@click.option("--limit", type=WholeNumber(1, 5_000), default=ROWS, show_default=True)
@JSON
def checks(*, as_json: bool, **options: Any) -> None:
    """Show the results of a service's scheduled checks, the newest last."""
    answer = read("services.read_series", **options)
    print_answer(answer, _lines(answer), as_json=as_json)


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    for each in answer["checks"]:
        last = f", last checked {_time(each['checked_at'])}" if each["checked_at"] else ""
        why = f": {each['detail']}" if each["detail"] else ""
        yield f"{each['check']} ({each['kind']}) {each['state']}{last}{why}"
        yield from (f"  {_point(point)}" for point in each["points"])
        yield from (f"  {_span(span)}" for span in each["aggregates"])
    if not answer["checks"]:
        away = read("services.status")["supervisor"] == "away"
        reason = ". Start the supervisor to run the checks." if away else ": no check has ended."
        yield f"No results yet{reason}"


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
    counts = f"{count_noun(span['count'], 'result')}, {count_noun(span['failures'], 'failure')}"
    if span["silent"]:
        counts += f", {span['silent']:,} in maintenance or paused"
    if span["p50_ms"] is not None:
        values = span["p50_ms"], span["p95_ms"], span["max_ms"]
        counts += ", p50 {:g} ms, p95 {:g} ms, max {:g} ms".format(*values)
    return f"{_time(span['at'])}  {counts}"


def _time(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:19]}"


def describe_problem(problem: Mapping[str, Any]) -> str:
    """Return a mistake in services.yaml with its place."""
    return f"{problem['path']}:{problem['line']}:{problem['column']}: {problem['message']}"
