"""`lamplighter context` and `lamplighter audit`: the next prompt's memories, and their evidence."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import click

from lamplighter import clock
from lamplighter.cli.common import JSON, CliCommand, WholeNumber, print_answer, read
from lamplighter.domain.memory.memory import GENERAL, Source
from lamplighter.domain.text import one_line, shorten

MAX_BELIEFS: Final = 20
SESSIONS_SHOWN: Final = 5
LINKED_CHARS: Final = 60
TESTED_CHARS: Final = 200
MINUTE_CHARS: Final = len("2026-01-01T12:00")
SUPERVISOR: Final = "the supervisor"
AUTHORS: Final = {
    Source.MARKER: SUPERVISOR,  # without a session: derived from outcome records
    Source.CLIENT: "a client",
    Source.CAPTURED: "a client",
    Source.EXTRACTED: "the organizer",
    Source.IMPORTED: "an import",
}
"""Who created a memory without a session; otherwise a person."""


@click.command(cls=CliCommand)
@click.option("--services", help="Put the memories of these services first; comma-separated.")
@click.option(
    "--budget", type=WholeNumber(0, 1_000_000), help="Override LAMPLIGHTER_MEMORY_BUDGET."
)
@click.option("--exclude", "--without", "without", help="Leave out these memories: 7,8.")
@click.option("--as-of", help="Memories as of this time: 2026-01-01T12:00:00Z.")
@click.option(
    "--compare-to",
    "--against",
    "against",
    help="Show the difference to `now` or to the prompt of session N.",
)
@JSON
def context(*, as_json: bool, **options: Any) -> None:
    """Print the memories that the next prompt would include."""
    preview = read("prompt.preview", **options)
    text = preview["diff"]["text"] if "diff" in preview else preview["text"]
    print_answer(preview, text.splitlines(), as_json=as_json)
    if not text and not as_json:
        nothing = "The next prompt would include no memories."
        click.echo("No difference." if "diff" in preview else nothing, err=True)


@click.command(cls=CliCommand)
@click.argument("topic")
@click.option("--all", "whole", is_flag=True, help=f"Show all, not only the first {MAX_BELIEFS}.")
@JSON
def audit(topic: str, *, whole: bool, as_json: bool) -> None:
    """Show the memories about a service or a word, and their evidence."""
    limit = None if whole else MAX_BELIEFS
    report = read("audit.audit_topic", topic=topic, limit=limit)
    print_answer(report, _lines(report, now=clock.now()), as_json=as_json)


def _lines(report: dict[str, Any], *, now: datetime) -> Iterator[str]:
    if not report["items"]:
        yield f"No memories about {report['topic']}."
        return
    states = report["states"]
    yield f"{report['topic']}: {states['active']:,} active, {states['inactive']:,} inactive"
    for each in report["items"]:
        yield ""
        yield from _belief(each, now)
    if report["more"]:
        yield ""
        yield f"{report['more']:,} more: --all"


def _belief(each: dict[str, Any], now: datetime) -> Iterator[str]:
    memory = each["memory"]
    inactive = f"inactive ({memory['inactive_reason'] or 'no reason'})"
    state = f"{'active' if memory['active'] else inactive}, {memory['trust']}"
    pinned = ", pinned" if memory["pinned"] else ""
    where = f"{memory['service'] or GENERAL}/{memory['category']}"
    yield f"#{memory['id']}  {where}  {memory['confidence']:.2f}  {state}{pinned}"
    yield f"    {one_line(memory['observation'])}"
    learned = f"{_day(memory['created_at'])} from {_source_of(memory)}, by {memory['source']}"
    yield _row("learned", learned)
    yield from _tally_lines("confirmed", each["confirmed"], "by")
    yield from _tally_lines("contradicted", each["contradicted"], "by")
    yield from _link_lines(each)
    if each["verification"] is not None:
        yield _row("tested", _outcome_words(each["verification"]))
    yield from _tally_lines("included", each["told"], "in", otherwise="in no prompt")
    falls = each["inactive_from"]
    if falls is not None:
        past = datetime.fromisoformat(falls) <= now
        due = "at the next session" if past else f"on {_day(falls)}"
        yield _row("fades", f"below 0.30 {due} unless confirmed")


def _outcome_words(outcome: dict[str, Any]) -> str:
    claims = "; ".join(
        f"{claim['claim']} {claim['state']}: {claim['detail']}" for claim in outcome["evidence"]
    )
    words = f"{outcome['state']} {_day(outcome['checked_at'])}"
    return shorten(one_line(f"{words}, {claims}" if claims else words), TESTED_CHARS)


def _source_of(memory: dict[str, Any]) -> str:
    if memory["session_id"] is not None:
        return f"session {memory['session_id']} (tier {memory['tier']})"
    return AUTHORS.get(memory["source"], "a person")


def _tally_lines(
    word: str, each: dict[str, Any], how: str, *, otherwise: str = "never"
) -> Iterator[str]:
    count, sessions = each["count"], each["sessions"]
    if not count:
        yield _row(word, otherwise)
        return
    named = [
        SUPERVISOR if one["session_id"] is None else f"session {one['session_id']}"
        for one in sessions[:SESSIONS_SHOWN]
    ]
    left = count - len(named)
    rest = f" and {left:,} more" if left else ""
    times = "once" if count == 1 else f"{count:,} times"
    yield _row(word, f"{times}, last {_day(sessions[0]['at'])}, {how} {', '.join(named)}{rest}")


def _link_lines(each: dict[str, Any]) -> Iterator[str]:
    links, reviews = each["links"], each["reviews"]
    for link in links["items"]:
        gone, number = link["observation"] is None, link["memory_id"]
        text = "deleted" if gone else one_line(link["observation"])
        inward = link["direction"] == "from"
        way = f"#{number} {link['what']} it" if inward else f"{link['what']} #{number}"
        aside = "" if link["active"] or gone else ", inactive"
        yield _row("link", f"{way}: {shorten(text, LINKED_CHARS)} ({_day(link['at'])}{aside})")
    for case in reviews["items"]:
        text = shorten(one_line(case["said"]), LINKED_CHARS)
        about = f"{case['id']} is open, {case['kind']} with #{case['memory_id']}"
        yield _row("review", f"{about}: {text}")
    for what, found in (("links", links), ("open reviews", reviews)):
        left = found["count"] - len(found["items"])
        if left > 0:
            yield _row("", f"and {left:,} more {what}")


def _row(word: str, text: str) -> str:
    return f"    {word:<13}{text}"


def _day(at: str | None) -> str:
    return "unknown" if at is None else f"{at[:MINUTE_CHARS].replace('T', ' ')}Z"
