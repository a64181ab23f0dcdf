"""`lamplighter context` and `lamplighter audit`: the next prompt's memories, and their evidence."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from lamplighter import clock
from lamplighter.cli.common import load_settings, report_errors
from lamplighter.domain.memory.memory import GENERAL, Memory, Source
from lamplighter.domain.text import escape_terminal, one_line, shorten

if TYPE_CHECKING:
    from lamplighter.formats.audit import Audit, AuditedMemory, AuditTally

MAX_BELIEFS: Final = 20
SESSIONS_SHOWN: Final = 5
LINKED_CHARS: Final = 60


@click.command()
@click.option("--services", help="Put the memories of these services first; comma-separated.")
@click.option(
    "--budget", type=click.IntRange(0, 1_000_000), help="Override LAMPLIGHTER_MEMORY_BUDGET."
)
@click.option("--without", help="Leave out these memories: 7,8.")
@click.option("--as-of", help="Memories as of this time: 2026-01-01T12:00:00Z.")
@click.option("--against", help="Show the difference to `now` or to the prompt of session N.")
@click.option("--json", "as_json_", is_flag=True, help="Print JSON.")
@report_errors
def context(
    services: str | None,
    budget: int | None,
    without: str | None,
    as_of: str | None,
    against: str | None,
    *,
    as_json_: bool,
) -> None:
    """Print the memories that the next prompt would include."""
    from lamplighter.serve.commands import context as knowing

    found = knowing.context(
        load_settings(),
        services=services,
        budget=budget,
        without=without,
        as_of=as_of,
        against=against,
    )
    if as_json_:
        click.echo(json.dumps(found.as_json(whole=False), ensure_ascii=False))
    elif found.difference is not None:
        _print(found.difference.text, otherwise="No difference.")
    else:
        _print(found.block.text, otherwise="The next prompt would include no memories.")


@click.command()
@click.argument("topic")
@click.option("--all", "whole", is_flag=True, help=f"Show all, not only the first {MAX_BELIEFS}.")
@click.option("--json", "as_json_", is_flag=True, help="Print JSON.")
@report_errors
def audit(topic: str, *, whole: bool, as_json_: bool) -> None:
    """Show the memories about a service or a word, and their evidence."""
    from lamplighter.serve.commands import context as knowing

    limit = None if whole else MAX_BELIEFS
    pages = knowing.audit(load_settings(), topic, limit=limit)
    beliefs = [belief for page in pages for belief in page.beliefs]
    more = pages[0].active + pages[0].inactive - len(beliefs)
    if as_json_:
        click.echo(json.dumps(_as_json(pages[0], beliefs, more), ensure_ascii=False))
        return
    for line in _lines(pages[0], beliefs, now=clock.now()):
        click.echo(escape_terminal(line))
    if more > 0:
        click.echo(f"\n{more:,} more: --all")


def _print(text: str, *, otherwise: str) -> None:
    for line in text.splitlines():
        click.echo(escape_terminal(line))
    if not text:
        click.echo(otherwise, err=True)


def _as_json(first: "Audit", beliefs: "list[AuditedMemory]", more: int) -> dict[str, object]:
    from lamplighter.formats.audit import as_json

    return {
        "topic": first.topic,
        "service": first.service,
        "states": {"active": first.active, "inactive": first.inactive},
        "items": [as_json(each) for each in beliefs],
        "more": max(0, more),
    }


def _lines(first: "Audit", beliefs: "list[AuditedMemory]", *, now: datetime) -> Iterator[str]:
    if not beliefs:
        yield f"No memories about {first.topic}."
        return
    yield f"{first.topic}: {first.active:,} active, {first.inactive:,} inactive"
    for each in beliefs:
        yield ""
        yield from _belief(each, now)


def _belief(each: "AuditedMemory", now: datetime) -> Iterator[str]:
    memory = each.memory
    state = "active" if memory.active else f"inactive ({memory.inactive_reason or 'no reason'})"
    where = memory.service or GENERAL
    pinned = ", pinned" if memory.pinned else ""
    yield (
        f"#{memory.id}  {where}/{memory.category}  {memory.confidence:.2f}  "
        f"{state}, {memory.trust}{pinned}"
    )
    yield f"    {one_line(memory.observation)}"
    yield _row(
        "learned", f"{_day(memory.created_at)} from {_source_of(memory)}, by {memory.source}"
    )
    yield from _tally_lines("confirmed", each.confirmed, "by")
    yield from _tally_lines("contradicted", each.contradicted, "by")
    yield from _link_lines(each)
    yield from _tally_lines("included", each.told, "in", otherwise="in no prompt")
    if each.falls is not None:
        due = "at the next session" if each.falls <= now else f"on {_day(each.falls)}"
        yield _row("fades", f"below 0.30 {due} unless confirmed")


def _source_of(memory: Memory) -> str:
    if memory.session_id is not None:
        return f"session {memory.session_id} (tier {memory.tier})"
    return "a client" if memory.source in (Source.CLIENT, Source.CAPTURED) else "a person"


def _tally_lines(
    word: str, each: "AuditTally", how: str, *, otherwise: str = "never"
) -> Iterator[str]:
    if not each.count:
        yield _row(word, otherwise)
        return
    named = [
        "a person" if voice.session_id is None else f"session {voice.session_id}"
        for voice in each.voices[:SESSIONS_SHOWN]
    ]
    left = each.count - len(named)
    rest = f" and {left:,} more" if left else ""
    times = "once" if each.count == 1 else f"{each.count:,} times"
    yield _row(word, f"{times}, last {_day(each.voices[0].at)}, {how} {', '.join(named)}{rest}")


def _link_lines(each: "AuditedMemory") -> Iterator[str]:
    for tie in each.links.links:
        said = "deleted" if tie.observation is None else one_line(tie.observation)
        way = f"#{tie.memory_id} {tie.what} it" if tie.inward else f"{tie.what} #{tie.memory_id}"
        aside = "" if tie.active or tie.observation is None else ", inactive"
        yield _row("link", f"{way}: {shorten(said, LINKED_CHARS)} ({_day(tie.at)}{aside})")
    for case in each.cases.cases:
        said = shorten(one_line(case.said), LINKED_CHARS)
        yield _row("review", f"{case.review_id} is open, {case.kind} with #{case.other_id}: {said}")
    for what, ties, named in (
        ("links", each.links, len(each.links.links)),
        ("open reviews", each.cases, len(each.cases.cases)),
    ):
        if ties.count > named:
            yield _row("", f"and {ties.count - named:,} more {what}")


def _row(word: str, text: str) -> str:
    return f"    {word:<13}{text}"


def _day(at: datetime | None) -> str:
    return "unknown" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M}Z"
