"""`lamplighter health`: the health of the memory, for people and for schedules."""

import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from lamplighter.cli.common import JSON, OutcomeCommand, load_settings, print_answer
from lamplighter.domain.errors import EXIT_FAILED

STATES: Final = {"ok": "ok", "warning": "WARN", "failing": "BAD", "unknown": "?"}
ADVICE: Final = {
    "organize": "Run `lamplighter organize`.",
    "verify": "Run `lamplighter verify`.",
    "reviews": "Run `lamplighter reviews`.",
    "unused": "Look through them on the Memories page, and delete outdated ones.",
    "unverified": "Confirm them with `lamplighter memory confirm`, or delete them.",
}
MINUTE_CHARS: Final = 16


@click.command(cls=OutcomeCommand)
@click.option("--last", is_flag=True, help="Show the last measurement instead of a new one.")
@click.option("--compare", is_flag=True, help="Compare all memories for duplicates; can be slow.")
@JSON
def health(*, last: bool, compare: bool, as_json: bool) -> None:
    """Measure the health of the memory. Exits with 1 if a goal is missed."""
    from lamplighter.serve.commands import health as command

    if last and compare:
        raise click.UsageError("--last and --compare exclude each other.")
    report = command.read(load_settings(), measure=not last, compare=compare)
    measured = report["measurement"]
    print_answer(report, _lines(report), as_json=as_json)
    sys.exit(EXIT_FAILED if measured and measured["state"] == "failing" else 0)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    measured, trend = found["measurement"], found["trend"]
    if measured is None:
        yield "The memory has not been measured yet."
        return
    earlier = trend[-2]["values"] if len(trend) > 1 else {}
    for each in measured["findings"]:
        yield f"{STATES[each['state']]:<4} {each['words']} (goal: {each['goal']})"
        if each["name"] in earlier:
            yield f"     {_change(each, earlier[each['name']], trend[-2]['at'])}"
        if each["state"] != "ok" and each["action"]:
            yield f"     {ADVICE[each['action']]}"
    compared = measured["compared_at"]
    if compared != measured["at"]:
        when = "never" if compared is None else _minute(compared)
        yield f"Duplicates were last counted: {when}. Count them with --compare."


def _change(each: dict[str, Any], before: float, at: str) -> str:
    form = ".1%" if each["name"] == "duplicates" else ",.2f" if each["name"] == "ratio" else ",.0f"
    if format(before, form) == format(each["value"], form):
        return f"unchanged since {_minute(at)}"
    return f"{before:{form}} on {_minute(at)}"


def _minute(at: str) -> str:
    return f"{at[:MINUTE_CHARS].replace('T', ' ')}Z"
