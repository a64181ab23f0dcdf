"""`lamplighter revoke`: revert what a session, an agent or a source taught."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import click

from lamplighter.cli.common import JSON, ROW_ID, CliCommand, load_settings, print_answer
from lamplighter.domain.memory.memory import Source
from lamplighter.domain.text import shorten

LINE_CHARS: Final = 100
MAX_LINES: Final = 20


@click.command(cls=CliCommand)
@click.option("--session", type=ROW_ID, help="Number of a session.")
@click.option("--agent", help="Name of an agent: all its sessions.")
@click.option(
    "--source", type=click.Choice([each.value for each in Source]), help="How the memories came in."
)
@click.option("--yes", is_flag=True, help="Revoke now; without it, only show what would change.")
@click.option("--undo", type=ROW_ID, metavar="ACT", help="Undo a revocation.")
@JSON
def revoke(
    session: int | None,
    agent: str | None,
    source: str | None,
    undo: int | None,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Revert everything that a session, an agent or a source taught.

    Memories that it learned are removed; memories that it changed get their earlier values.
    Later decisions of an operator are kept. Without --yes nothing changes.
    """
    from lamplighter.domain.revoke.origin import choose_origin
    from lamplighter.serve.commands import revoke as command

    if undo is not None:
        rows = command.undo(load_settings(), undo)
        restored = "1 memory is" if rows == 1 else f"{rows:,} memories are"
        click.echo(f"Act {undo} was undone: {restored} as before.")
        return
    origin = choose_origin(session, agent, source)
    revocation = command.revoke(load_settings(), origin, dry_run=not yes)
    lines = chain(_lines(revocation), [_conclusion(revocation, f"{origin}", yes=yes)])
    print_answer(revocation, lines, as_json=as_json)


def _conclusion(revocation: dict[str, Any], origin: str, *, yes: bool) -> str:
    if revocation["act"] is not None:
        undo_hint = f"Undo it with `lamplighter revoke --undo {revocation['act']}`."
        return f"Revoked {origin}. {undo_hint}"
    if yes or not any(revocation["counts"][each] for each in ("removed", "restored", "inherited")):
        return f"There is nothing to revoke of {origin}."
    return "Nothing was changed. Use --yes to revoke."


def _lines(revocation: dict[str, Any]) -> Iterator[str]:
    yield from _section(
        "Removed", [_memory(each) for each in revocation["removed"]], revocation, "removed"
    )
    changed = [
        f"{_memory(each['before'])}  {_value(each['before'])} -> {_value(each['after'])}"
        for each in revocation["changed"]
    ]
    yield from _section("Restored", changed, revocation, "restored")
    passed = [
        f"{each['replaces']}  {shorten(each['observation'], LINE_CHARS)}"
        f"  learned by session {each['session_id']}, confidence {each['confidence']}"
        for each in revocation["inherited"]
    ]
    yield from _section("Passed to a later session", passed, revocation, "inherited")
    kept = [
        f"{_memory(each['memory'])}  {each['cause']} by an operator, version {each['version']}"
        for each in revocation["decisions"]
    ]
    yield from _section("Kept as an operator decided", kept, revocation, "decisions")
    derived = [_memory(each) for each in revocation["derived"]]
    if derived:
        yield from _section("Digests that stay; check their text", derived, revocation, "")
    for each in revocation["effects"]:
        yield f"Next prompt, {each['scope']}:"
        yield from each["text"].splitlines()


def _section(title: str, lines: list[str], found: dict[str, Any], name: str) -> Iterator[str]:
    count = found["counts"].get(name, len(lines))
    if count:
        yield f"{title}: {count:,}"
        yield from (f"  {each}" for each in lines[:MAX_LINES])
    if count > MAX_LINES:
        yield f"  and {count - MAX_LINES:,} more"


def _memory(each: dict[str, Any]) -> str:
    return f"{each['id']}  {shorten(each['observation'], LINE_CHARS)}"


def _value(each: dict[str, Any]) -> str:
    return f"{each['confidence']}" if each["active"] else "inactive"
