"""`lamplighter reviews` and `lamplighter verify`: memories to review, and their verification."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import click

from lamplighter.cli import common
from lamplighter.cli.common import JSON, ROW_ID, CliCommand, CliGroup, load_settings, print_answer
from lamplighter.domain.errors import EXIT_FAILED


@click.command(cls=CliCommand)
@JSON
def reviews(*, as_json: bool) -> None:
    """List open reviews of memories, oldest first."""
    from lamplighter.serve.local import web_url

    settings = load_settings()
    answer = common.read("reviews.list_open_reviews", settings)
    items, pages = answer["items"], answer["pages"]
    to_read = common.count_noun(pages, "notebook page")
    hints = [f"{to_read} to review: `lamplighter notebook list`."] if pages else []
    here = f"Review them at {web_url(settings)}/reviews"
    hints.append(here if items or pages else "No open reviews.")
    print_answer(items, chain(*map(_lines, items), hints), as_json=as_json)
    if answer["total"] > len(items):
        click.echo(f"{answer['total'] - len(items):,} more open.", err=True)


def _lines(each: dict[str, Any]) -> Iterator[str]:
    about = f"{each['service'] or 'general'}, {each['category']}"
    why = f": {each['reason']}" if each["reason"] else ""
    yield f"Review {each['id']} ({each['kind']}; {about}; {each['created_at'][:16]}Z){why}"
    of_one = each["kind"] in ("verification", "file", "relationship")
    for side in ("old", "new")[: 1 if of_one else 2]:
        yield f"    {side}  {_claim(each[side])}"
    if label := {"file": "file", "relationship": "graph"}.get(each["kind"]):
        yield f"    {label} {' '.join(each['said'].split())}"


def _claim(memory: dict[str, Any] | None) -> str:
    if memory is None:
        return "(deleted)"
    words = " ".join(memory["observation"].split())
    return f"memory {memory['id']}, {memory['confidence']:.2f}: {words}"


@click.command(cls=common.OutcomeCommand)
@click.argument("ids", nargs=-1, type=ROW_ID)
@click.option("--dry-run", is_flag=True, help="Report the outcome without storing it.")
@JSON
def verify(ids: Sequence[int], *, dry_run: bool, as_json: bool) -> None:
    """Verify memories against files, git, services.yaml, check results and package manifests.

    Without IDs: all unverified memories and those marked to verify. Exit status 1: one failed.
    """
    from lamplighter.serve.commands import verify as verification

    found = verification.verify(load_settings(), ids, dry_run=dry_run)
    print_answer(found, _result_lines(found, listed=bool(ids)), as_json=as_json)
    sys.exit(EXIT_FAILED if any(each["state"] == "failed" for each in found) else 0)


def _result_lines(results: Sequence[dict[str, Any]], *, listed: bool) -> Iterator[str]:
    for each in results:
        if each["state"] == "untested" and not listed:
            continue
        words = " ".join(each["observation"].split())
        why = f" ({each['skipped']})" if each["skipped"] else ""
        yield f"{each['state']:<8}  memory {each['memory_id']}: {words}{why}"
        for claim in each["evidence"]:
            source = f"{claim['source']}: " if claim["source"] else ""
            yield f"    {claim['state']:<9}  {claim['claim']}: {source}{claim['detail']}"
        for part in each["untested"] if each["evidence"] else ():
            yield f"    not tested  {part}"
        for number in each["reviews"]:
            yield f"    review {number} is open"
    counts = Counter(each["state"] for each in results)
    states = ("passed", "failed", "partial", "untested")
    yield ", ".join(f"{counts[state]:,} {state}" for state in states)


@click.group("memory-check", cls=CliGroup)
def memory_check() -> None:
    """Attach checks to memories: a check of services.yaml, or a read-only command."""


@memory_check.command()
@click.argument("memory_id", type=ROW_ID)
@click.option("--service", help="The service of a check in services.yaml.")
@click.option("--check", help="The name of the check.")
@click.option("--command", help="A command that only reads; exit status 0 passes.")
@click.option("--every", default="1d", show_default=True, help="How often it runs, such as 6h.")
@JSON
def add(memory_id: int, *, every: str, as_json: bool, **values: str | None) -> None:
    """Attach a check to a memory."""
    from lamplighter.config.readers import duration
    from lamplighter.serve.commands import verify as verification

    try:
        cadence = duration(every)
    except ValueError as error:
        common.exit_with_error(f"--every: {every!r} {error}")
    attached = verification.attach(load_settings(), memory_id, cadence=cadence, **values)
    done = f"Attached check {attached['id']} to memory {memory_id}."
    print_answer(attached, [done], as_json=as_json)


@memory_check.command("list")
@click.argument("memory_id", type=ROW_ID)
@JSON
def list_checks(memory_id: int, *, as_json: bool) -> None:
    """List the checks attached to a memory."""
    from lamplighter.serve.commands import verify as verification

    checks = verification.list_checks(load_settings(), memory_id)
    lines = map(_check_line, checks) if checks else ["No checks are attached to this memory."]
    print_answer(checks, lines, as_json=as_json)


def _check_line(each: dict[str, Any]) -> str:
    what = each["command"] or f"{each['service']}/{each['check']}"
    return f"{each['id']}  {each['state']:<8} {what}  {each['detail']}".rstrip()


@memory_check.command()
@click.argument("memory_id", type=ROW_ID)
@click.argument("check_id", type=ROW_ID)
def remove(memory_id: int, check_id: int) -> None:
    """Detach a check from a memory."""
    from lamplighter.serve.commands import verify as verification

    verification.detach(load_settings(), memory_id, check_id)
    click.echo(f"Detached check {check_id} from memory {memory_id}.")
