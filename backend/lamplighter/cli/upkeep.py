"""`lamplighter organize` and `lamplighter vectors`: upkeep of memories and of their embeddings."""

import json
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import click

from lamplighter.cli import common
from lamplighter.cli.common import JSON, ROW_ID, CliGroup, WholeNumber, load_settings, print_answer
from lamplighter.domain.text import escape_terminal, shorten

if TYPE_CHECKING:
    from lamplighter.domain.search.semantic import IndexProgress

SHOWN_SECONDS: Final = 0.1
"""How often progress is printed at the most."""

COUNTS: Final = (
    ("duplicates", "Near-duplicates set aside"),
    ("compressed", "Old episodes compressed"),
    ("digests", "New digests"),
    ("searched", "Recent episodes searched for facts"),
    ("facts", "New facts"),
    ("known_facts", "Facts that were known"),
    ("scanned", "Texts of sessions, events and incidents read"),
    ("scanned_facts", "New facts in these texts"),
    ("verified", "Facts that a source confirms"),
    ("refuted", "Facts that a source refutes (see `lamplighter reviews`)"),
    ("conflicts", "Facts that contradict a memory (see `lamplighter reviews`)"),
    ("model_facts", "New facts that only the model selected"),
    ("model_relationships", "Relationships of the model for a person"),
    ("model_dropped", "Relationships of the model that were dropped"),
    ("model_skipped", "Batches without a selection of the model"),
)
_LINE_CHARS: Final = 160


@click.group(invoke_without_command=True, cls=CliGroup)
@click.option("--dry-run", is_flag=True, help="Only show what a run would do.")
@JSON
@click.pass_context
def organize(ctx: click.Context, *, dry_run: bool, as_json: bool) -> None:
    """Merge near-duplicates and compress episodes older than 7 days.

    Memories about services are left alone. A run can be undone as a whole.
    """
    if ctx.invoked_subcommand is not None:
        return
    from lamplighter.serve.commands import organize as command

    report = command.organize(load_settings(), dry_run=dry_run, progress=_progress(as_json))
    print_answer(report, _report_lines(report, dry_run=dry_run), as_json=as_json)


def _report_lines(report: dict[str, Any], *, dry_run: bool) -> Iterator[str]:
    yield from _count_lines(report["counts"])
    if dry_run:
        for what, texts in report["examples"].items():
            yield from (f"  {what}: {shorten(text, _LINE_CHARS)}" for text in texts)
        yield "Nothing was changed."
    elif report["act_id"] is None:
        yield "There was nothing to do."
    else:
        yield f"Undo it with `lamplighter organize undo {report['id']}`."


@organize.command(name="runs")
@click.option("--limit", type=WholeNumber(1, 200), default=20, show_default=True)
@JSON
def list_runs(limit: int, *, as_json: bool) -> None:
    """List the runs, newest first."""
    from lamplighter.serve.commands import organize as command

    runs = command.list_runs(load_settings(), limit=limit)
    lines = map(_run_line, runs) if runs else ["The organizer has not run yet."]
    print_answer(runs, lines, as_json=as_json)


def _run_line(each: dict[str, Any]) -> str:
    counts = each["counts"]
    state = f"undone by act {each['undone_by']}" if each["undone_by"] else each["state"]
    return (
        f"{each['id']:>4}  {each['started_at'][:16].replace('T', ' ')}  {each['trigger']:<10}"
        f"  {counts.get('duplicates', 0):,} duplicates, {counts.get('compressed', 0):,}"
        f" compressed, {counts.get('facts', 0):,} facts  {state}"
    )


@organize.command()
@click.argument("number", type=ROW_ID)
@JSON
def show(number: int, *, as_json: bool) -> None:
    """Show what a run changed."""
    from lamplighter.serve.commands import organize as command

    run = command.show(load_settings(), number)
    undone = [f"Undone by act {run['undone_by']}."] if run["undone_by"] else []
    lines = chain(_count_lines(run["counts"]), map(_replacement_line, run["replacements"]), undone)
    print_answer(run, lines, as_json=as_json)


def _replacement_line(each: dict[str, Any]) -> str:
    memory = each["memory"]
    text = "deleted" if memory is None else memory["observation"]
    origin = _ids(each["replaced"]) or (memory or {}).get("source_ref", "").partition(", ")[2]
    head = f"{each['id']} {each['what'].replace('_', ' ')} {origin}"
    return f"{head}: {shorten(text, _LINE_CHARS)}"


@organize.command()
@click.argument("number", type=ROW_ID)
def undo(number: int) -> None:
    """Undo a run: every memory gets its previous values."""
    from lamplighter.serve.commands import organize as command

    rows = command.undo(load_settings(), number)
    click.echo(f"Run {number} was undone: {rows:,} memories are as before.")


def _count_lines(counts: dict[str, int]) -> Iterator[str]:
    raw, raw_after = counts.get("raw", 0), counts.get("raw_after", 0)
    yield f"Memories that are not distilled: {raw:,} before, {raw_after:,} after."
    yield from (f"  {words}: {counts[name]:,}" for name, words in COUNTS if counts.get(name))
    if requests := counts.get("model_requests"):
        tokens, dollars = counts.get("model_tokens", 0), counts.get("model_microdollars", 0) / 1e6
        yield f"  Requests to the model: {requests:,}, {tokens:,} tokens, ${dollars:.4f}"


def _ids(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    return shown if len(numbers) <= 5 else f"{shown} and {len(numbers) - 5:,} more"


def _progress(as_json: bool) -> Callable[[str, int, int], Any]:
    """Return a progress display for a terminal, on one line."""
    if as_json or not sys.stderr.isatty():
        return lambda stage, done, whole: None

    shown = 0.0

    def show_step(stage: str, done: int, whole: int) -> None:
        nonlocal shown
        if done >= whole or monotonic() - shown >= SHOWN_SECONDS:
            shown = monotonic()
            click.echo(f"\r{stage}: {done:,} of {whole:,}", err=True, nl=done >= whole)

    return show_step


@click.group(cls=CliGroup)
def vectors() -> None:
    """Manage the embeddings of semantic search."""


@vectors.command()
@JSON
def status(*, as_json: bool) -> None:
    """Show how many memories have embeddings."""
    from lamplighter.serve import local

    settings = load_settings()
    found = local.ask_web_process(settings, "vectors.read_progress")
    if found is None:  # a missing or outdated database is left unchanged
        from lamplighter.serve.queries import vectors as state

        found = state.describe(settings, state.progress(settings))
    _print_progress(found, as_json=as_json)


@vectors.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON at the end, and no bar.")
def backfill(*, as_json: bool) -> None:
    """Compute missing embeddings now. Lamplighter can keep running; interrupt at any time."""
    from lamplighter.serve.queries import vectors as state
    from lamplighter.serve.semantic import finder, service

    settings = load_settings()
    if why_not := finder.why_not(settings):
        common.exit_with_error(f"Semantic search is not available: {why_not}.")
    if as_json:
        done = service.backfill(settings, lambda _: None)
        _print_progress(state.describe(settings, done), as_json=True)
        return
    with click.progressbar(length=0, label="Memories", show_pos=True) as bar:

        def show(found: "IndexProgress") -> None:
            bar.length = found.total
            bar.update(found.indexed - bar.pos)

        done = service.backfill(settings, show)
        show(done)
    _print_progress(state.describe(settings, done), as_json=False)


def _print_progress(found: dict[str, Any], *, as_json: bool) -> None:
    click.echo(json.dumps(found["progress"]) if as_json else escape_terminal(found["words"]))
