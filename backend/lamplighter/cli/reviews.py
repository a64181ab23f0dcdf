"""`lamplighter reviews` and `lamplighter verify`: memories to review, and their verification."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from lamplighter.cli.common import (
    JSON,
    ROW_ID,
    CliCommand,
    CliGroup,
    exit_with_error,
    load_settings,
    print_json,
    read,
)
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.text import escape_terminal


@click.command(cls=CliCommand)
@JSON
def reviews(*, as_json: bool) -> None:
    """List open reviews of memories, oldest first."""
    from lamplighter.serve.local import web_url

    settings = load_settings()
    answer = read("reviews.list_open_reviews", settings)
    items, total = answer["items"], answer["total"]
    if as_json:
        print_json(items)
    for each in [] if as_json else items:
        click.echo(_lines(each))
    if total > len(items):
        click.echo(f"{total - len(items):,} more open.", err=True)
    if not as_json:
        here = f"Review them at {web_url(settings)}/reviews"
        if pages := answer["pages"]:
            noun = "page" if pages == 1 else "pages"
            click.echo(f"{pages:,} notebook {noun} to review: `lamplighter notebook list`.")
        click.echo(here if items or pages else "No open reviews.")


def _lines(each: dict[str, Any]) -> str:
    about = f"{each['service'] or 'general'}, {each['category']}"
    why = f": {escape_terminal(each['reason'])}" if each["reason"] else ""
    of_one = each["kind"] in ("verification", "file", "relationship")
    sides = [f"    {side}  {_claim(each[side])}" for side in ("old", "new")[: 1 if of_one else 2]]
    if label := {"file": "file", "relationship": "graph"}.get(each["kind"]):
        sides.append(f"    {label} {escape_terminal(' '.join(each['said'].split()))}")
    head = f"Review {each['id']} ({each['kind']}; {about}; {each['created_at'][:16]}Z){why}"
    return "\n".join([head, *sides])


def _claim(memory: dict[str, Any] | None) -> str:
    if memory is None:
        return "(deleted)"
    words = escape_terminal(" ".join(memory["observation"].split()))
    return f"memory {memory['id']}, {memory['confidence']:.2f}: {words}"


@click.command(cls=CliCommand)
@click.argument("ids", nargs=-1, type=ROW_ID)
@click.option("--dry-run", is_flag=True, help="Report the outcome without storing it.")
@JSON
def verify(ids: Sequence[int], *, dry_run: bool, as_json: bool) -> None:
    """Verify memories against files, git, services.yaml, check results and package manifests.

    Without IDs: all unverified memories and those marked to verify. Exit status 1: one failed.
    """
    from lamplighter.serve.commands import verify as verification

    found = verification.verify(load_settings(), ids, dry_run=dry_run)
    if as_json:
        print_json(found)
    else:
        _print_results(found, listed=bool(ids))
    sys.exit(EXIT_FAILED if any(each["state"] == "failed" for each in found) else 0)


def _print_results(results: Sequence[dict[str, Any]], *, listed: bool) -> None:
    for each in results:
        if each["state"] == "untested" and not listed:
            continue
        words = escape_terminal(" ".join(each["observation"].split()))
        why = f" ({each['skipped']})" if each["skipped"] else ""
        click.echo(f"{each['state']:<8}  memory {each['memory_id']}: {words}{why}")
        for claim in each["evidence"]:
            source = f"{claim['source']}: " if claim["source"] else ""
            line = f"    {claim['state']:<9}  {claim['claim']}: {source}{claim['detail']}"
            click.echo(escape_terminal(line))
        for part in each["untested"] if each["evidence"] else ():
            click.echo(escape_terminal(f"    not tested  {part}"))
        for number in each["reviews"]:
            click.echo(f"    review {number} is open")
    counts = Counter(each["state"] for each in results)
    states = ("passed", "failed", "partial", "untested")
    click.echo(", ".join(f"{counts[state]:,} {state}" for state in states))


@click.group("memory-check", cls=CliGroup)
def memory_check() -> None:
    """Attach checks to memories: a check of services.yaml, or a read-only command."""


@memory_check.command()
@click.argument("memory_id", type=ROW_ID)
@click.option("--service", help="The service of a check in services.yaml.")
@click.option("--check", help="The name of the check.")
@click.option("--command", "line", help="A command that only reads; exit status 0 passes.")
@click.option("--every", default="1d", show_default=True, help="How often it runs, such as 6h.")
@JSON
def add(
    memory_id: int,
    service: str | None,
    check: str | None,
    line: str | None,
    every: str,
    *,
    as_json: bool,
) -> None:
    """Attach a check to a memory."""
    from lamplighter.config.readers import duration
    from lamplighter.serve.commands import verify as verification

    try:
        cadence = duration(every)
    except ValueError as error:
        exit_with_error(f"--every: {every!r} {error}")
    attached_check = verification.attach(
        load_settings(), memory_id, service=service, check=check, command=line, cadence=cadence
    )
    if as_json:
        print_json(attached_check)
    else:
        click.echo(f"Attached check {attached_check['id']} to memory {memory_id}.")


@memory_check.command("list")
@click.argument("memory_id", type=ROW_ID)
@JSON
def list_checks(memory_id: int, *, as_json: bool) -> None:
    """List the checks attached to a memory."""
    from lamplighter.serve.commands import verify as verification

    checks = verification.list_checks(load_settings(), memory_id)
    if as_json:
        print_json(checks)
        return
    for each in checks:
        what = each["command"] or f"{each['service']}/{each['check']}"
        line = f"{each['id']}  {each['state']:<8} {what}  {each['detail']}"
        click.echo(escape_terminal(line.rstrip()))
    if not checks:
        click.echo("No checks are attached to this memory.")


@memory_check.command()
@click.argument("memory_id", type=ROW_ID)
@click.argument("check_id", type=ROW_ID)
def remove(memory_id: int, check_id: int) -> None:
    """Detach a check from a memory."""
    from lamplighter.serve.commands import verify as verification

    verification.detach(load_settings(), memory_id, check_id)
    click.echo(f"Detached check {check_id} from memory {memory_id}.")
