"""The search benchmark: how often the answer to a question is among the first results.

Notes of operators and conversations of many sessions, all written or generated here; see sets.py. A
table goes to standard error, the same figures as JSON to standard output. Tuning used one half of
the questions; the other half is reported separately (`unseen`).
"""

import asyncio
import inspect
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import sized
from benchmarks.quality.handbook import handbook
from benchmarks.quality.long import long_talks
from benchmarks.quality.ours import filled
from benchmarks.quality.replies import replies
from benchmarks.quality.score import Judged, ranked, scored, within
from benchmarks.quality.sets import Question, Set, sets
from benchmarks.quality.ways import said, ways
from lamplighter.embedding.minilm import MiniLM

BUDGET: Final = 1_024
SOME: Final = 12
"""The short form asks one of so many questions."""

COLUMNS: Final = ("r@5", "r@10", "r@20", "mrr", "ndcg@10", "told")
OURS, MEANING = "ours, words alone", "ours, with meaning"

MADE: Final = (long_talks, handbook, replies)

Order = Callable[[int], Sequence[int] | Awaitable[Sequence[int]]]
Table = dict[str, dict[str, dict[str, float]]]


def run() -> dict[str, Any]:
    """Return the measures of each search method for each set, and print them as a table."""
    found = asyncio.run(_run())
    for name, table in found.items():
        _print(name, table)
    return found


def every_set() -> list[Set]:
    """Return all sets of the benchmark; only the first in the short form."""
    if sized(len(MADE), short=0) == 0:
        notes = sets()[0]
        return [replace(notes, questions=notes.questions[::SOME])]
    return [*sets(), *(make() for make in MADE)]


async def _run() -> dict[str, Table]:
    model = MiniLM()
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        return {each.name: await compared(Path(directory), each, model) for each in every_set()}


async def compared(directory: Path, found: Set, model: MiniLM) -> Table:
    """Return the measures of each method for one set, filled into its own database."""
    async with filled(directory, found, model) as held:
        every: dict[str, Order] = dict(ways(found, await held.vectors(), await held.asked(found)))
        every[OURS] = held.way(found, meaning=False)
        every[MEANING] = held.way(found, meaning=True)
        return {name: await _judged(found, order) for name, order in every.items()}


async def _judged(found: Set, order: Order) -> dict[str, dict[str, float]]:
    """Return the measures over all questions, of each half and of each kind."""
    texts = [said(each) for each in found.entries]
    judged: list[tuple[Question, Judged]] = []
    for number, question in enumerate(found.questions):
        given = order(number)
        places = list(await given if inspect.isawaitable(given) else given)
        told = within(texts, places, question.answers, BUDGET)
        ranks = ranked(places, question.answers)
        judged.append((question, Judged(ranks, len(question.answers), told)))
    parts: dict[str, Callable[[Question], bool]] = {
        "all": lambda _: True,
        "tuned": lambda each: each.tuned,
        "unseen": lambda each: not each.tuned,
    }
    for kind in dict.fromkeys(each.kind for each in found.questions):
        parts[kind] = lambda each, kind=kind: each.kind == kind  # type: ignore[misc]
    return {
        name: scored([each for question, each in judged if fits(question)])
        for name, fits in parts.items()
    }


def _print(name: str, table: Table) -> None:
    kinds = [kind for kind in next(iter(table.values())) if kind not in ("all", "tuned")]
    for kind in ("all", *kinds) if len(kinds) > 2 else ("all", "unseen"):
        print(f"\n{name}, {kind:<24}" + "".join(f"{each:>9}" for each in COLUMNS), file=sys.stderr)
        for way, found in table.items():
            row = "".join(f"{found[kind][each]:>9.3f}" for each in COLUMNS)
            print(f"  {way:<32}{row}", file=sys.stderr)
