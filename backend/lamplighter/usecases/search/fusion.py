"""What words find and what meaning finds of the memories, as one order."""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Final

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.search.fusion import MEANING, WEIGHT, full_score, fuse_scores
from lamplighter.domain.search.query import ParsedQuery
from lamplighter.domain.search.ranking import Fields, QueryWeights
from lamplighter.domain.search.search import ScoreReason, SearchLayer, SemanticIndex
from lamplighter.domain.search.semantic import read_share
from lamplighter.repository.search.index import Document, layer_of, memory_of

COMPARED: Final = 50
"""How many of the best keyword results get a semantic score although they are not the nearest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One thing that matches: its number in the index, and what it scores.

    Of the score `meaning` is what it means; the rest are the words of its `document`, of
    whose scores `share` counts. `named` is how well its topic key is the one that is asked
    for: it is read before others.
    """

    number: int
    score: float
    document: Document | None = None
    share: float = 1.0
    meaning: float = 0.0
    named: int = 0

    @property
    def fields(self) -> Fields | None:
        """The terms of its document, if words found it."""
        return None if self.document is None else self.document.fields

    def reasons(self, weights: QueryWeights) -> list[ScoreReason]:
        """Return what counts for it; `weights` are those of the query."""
        reasons: list[ScoreReason] = []
        if self.document is not None:
            parts = weights.reasons(self.document.fields, self.document.size)
            reasons = [ScoreReason(each.what, each.score * self.share) for each in parts]
        if self.meaning:
            reasons.append(ScoreReason(MEANING, self.meaning))
        return reasons


Nearest = Awaitable[Sequence[tuple[int, float]]]


@contextmanager
def start_semantic_search(
    near: SemanticIndex | None, question: ParsedQuery, *, ahead: bool
) -> Iterator[Nearest | None]:
    """Look for what is near in meaning, `ahead` while words are looked for.

    Nothing of it goes on behind. A phrase and a word that must not stand there are about
    words: then nothing is looked for.
    """
    if near is None or question.phrases or question.without:
        yield None
        return
    asking = near(question.request.query, None, request=question.request)
    if not ahead:
        with closing(asking):
            yield asking
        return
    task = asyncio.create_task(asking)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        yield task
    finally:
        task.cancel()


async def merge_semantic(
    found_so_far: Sequence[Scored],
    question: ParsedQuery,
    near: SemanticIndex,
    nearest: Nearest | None,
    *,
    full: float,
) -> list[Scored] | None:
    """Return what matches with what meaning counts, and what only it finds; None when it is late.

    `full` is what a text with all the words of the query would score. Where no `nearest` were
    looked for, meaning only weighs what words find.
    """
    text = question.request.query
    keyword_hits = {memory_of(each.number): each for each in found_so_far if _is_memory(each)}
    try:
        meaning = {} if nearest is None else dict(await nearest)
        best = nlargest(COMPARED, keyword_hits, key=lambda each: keyword_hits[each].score)
        rest = [each for each in best if each not in meaning]
        meaning |= dict(await near(text, rest)) if rest else {}
    except (TimeoutError, Unavailable):
        return None
    return _combine_scores(found_so_far, keyword_hits, meaning, full)


def _combine_scores(
    every: Sequence[Scored],
    by_words: Mapping[int, Scored],
    meaning: Mapping[int, float],
    full: float,
) -> list[Scored]:
    """Return both as one: in the scale of the words, so that other layers still compare."""
    scores = {number: each.score for number, each in by_words.items()}
    scale = full_score(scores, full)
    share = 1.0 - WEIGHT if scores and meaning else 1.0
    combined = [_scale_score(each, share) for each in every if not _is_memory(each)]
    read = {
        number: read_share(each.document.size) for number, each in by_words.items() if each.document
    }
    for each in fuse_scores(scores, meaning, full=full, read=read):
        means = each.meaning * scale
        if own := by_words.get(each.id):
            combined.append(_scale_score(own, share, meaning=means))
        elif means:
            combined.append(Scored(number=each.id, score=means, meaning=means))
    return combined


def _scale_score(each: Scored, share: float, meaning: float = 0.0) -> Scored:
    return replace(each, score=each.score * share + meaning, share=share, meaning=meaning)


def _is_memory(each: Scored) -> bool:
    return layer_of(each.number) is SearchLayer.MEMORY
