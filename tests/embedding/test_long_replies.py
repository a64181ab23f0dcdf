"""With embeddings, long technical replies rank no worse than with plain FTS5."""

from dataclasses import replace
from pathlib import Path

from benchmarks.quality import MEANING, OURS, compared
from benchmarks.quality.replies import replies

from lamplighter.embedding.minilm import MiniLM

PLAIN = "OR, no stop words"
ONE_SERVICE = 48
"""Entries: sixteen conversations on one service, each with a reply of 1,500 to 4,000 characters."""


async def test_long_replies_rank_no_worse_than_with_plain_fts5(
    tmp_path: Path, model: MiniLM
) -> None:
    every = replies()
    asked = tuple(each for each in every.questions if each.answers[0] < ONE_SERVICE)
    talks = replace(every, entries=every.entries[:ONE_SERVICE], questions=asked)

    found = await compared(tmp_path, talks, model)

    plain, words, both = (found[way]["all"] for way in (PLAIN, OURS, MEANING))
    for measure in ("r@5", "r@10", "mrr"):
        assert both[measure] >= plain[measure], measure
        assert words[measure] >= plain[measure], measure
