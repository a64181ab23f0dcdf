"""Keyword matches by layer, and semantic matches of memories, merged into one order."""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from typing import Final

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.search.query import ParsedQuery
from lamplighter.domain.search.ranking import (
    MEANING,
    WEIGHT,
    CorpusStats,
    Fields,
    QueryWeights,
    full_score,
    fuse_scores,
    read_share,
)
from lamplighter.domain.search.search import ScoreReason, SearchLayer, SearchRequest, SemanticIndex
from lamplighter.domain.search.terms import (
    EVERYWHERE,
    NO_SERVICE,
    category_term,
    home_term,
    key_term,
    kind_term,
    metadata_term,
    project_term,
    service_term,
    tag_term,
    terms,
)
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.search import index
from lamplighter.repository.search.index import (
    COUNTED,
    RANKED,
    Document,
    MatchTerms,
    is_newer,
    layer_of,
    memory_of,
)
from lamplighter.repository.store.database import home_of
from lamplighter.repository.store.tables import ASIDE, BASES, STEP

COMPARED: Final = 50
"""The number of best keyword results to get a semantic score even if they are not the nearest."""
READ_TERMS: Final = 30_000
"""The most documents for which the index is read per query."""

MANY_WORDS: Final = 20
ENOUGH: Final = 5 * RANKED
"""For a long prompt, the rarest terms are searched until they match about this many."""

EVERYTHING: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A match: its number in the index, and its score.

    `meaning` is the semantic part of the score; the rest are the terms of its `document`, weighted
    by `share`. `named` is how well its topic key matches the requested key: such matches are read
    before others.
    """

    number: int
    score: float
    document: Document | None = None
    share: float = 1.0
    meaning: float = 0.0
    named: int = 0

    @property
    def fields(self) -> Fields | None:
        """The terms of its document, if it matched by keywords."""
        return None if self.document is None else self.document.fields

    def reasons(self, weights: QueryWeights) -> list[ScoreReason]:
        """Return the reasons for the score; `weights` are those of the query."""
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
    """Start a semantic search, with `ahead` in parallel to the keyword search.

    The search ends with this block. Phrases and excluded words concern the exact text: then there
    is no semantic search.
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
    """Return the matches with their semantic scores, and the semantic matches; None when late.

    `full` is the score of a text with all the terms of the query. Without `nearest`, semantic
    scores only weight the keyword matches.
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
    """Merge both, in the scale of keyword scores, to stay comparable with other layers."""
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


def layers_of(request: SearchRequest) -> list[SearchLayer]:
    """Return the layers that can contain matches: only memories have a category."""
    narrow = (request.categories, request.kind, request.tags, request.metadata)
    of_memories = any(narrow) or request.active is False
    return [each for each in request.layers if each is SearchLayer.MEMORY or not of_memories]


def _scope(db: Database, request: SearchRequest, layer: SearchLayer) -> tuple[tuple[str, ...], ...]:
    """Return groups of terms; a match contains at least one term of each group."""
    groups: list[tuple[str, ...]] = []
    if layer is SearchLayer.PAGE:
        groups.append((home_term(home_of(db)),))
    if request.project is not None:
        everywhere = (EVERYWHERE,) if layer is SearchLayer.MEMORY else ()
        groups.append((project_term(request.project), *everywhere))
    if request.service is not None:
        general = (NO_SERVICE,) if request.general else ()
        groups.append((*dict.fromkeys((_service(request.service), *general)),))
    if request.categories:
        groups.append(tuple(map(category_term, dict.fromkeys(request.categories))))
    if request.kind is not None:
        groups.append((kind_term(request.kind),))
    groups += [(tag_term(tag),) for tag in request.tags]
    groups += [(metadata_term(*pair),) for pair in request.metadata]
    return tuple(groups)


def _service(name: str) -> str:
    return service_term(None if normalize_service_name(name) == GENERAL else name)


async def corpus(db: Database, question: ParsedQuery, layers: Sequence[SearchLayer]) -> CorpusStats:
    """Return the size of the index, and how many documents contain each term of a query."""
    groups = {
        term for each in layers for group in _scope(db, question.request, each) for term in group
    }
    return await index.corpus(db, question, sorted(groups))


async def score_layer(
    db: Database, question: ParsedQuery, layer: SearchLayer, weighing: QueryWeights
) -> list[Scored]:
    """Return the matches in one layer, with their keyword scores."""
    request, scope, corpus_stats = (
        question.request,
        _scope(db, question.request, layer),
        weighing.corpus,
    )
    conditions = None if request.since is None else is_newer(layer, request.since)
    rarest, expected = _rarest_terms(question.terms, scope, corpus_stats)
    matching = MatchTerms(
        terms=rarest, phrases=question.phrases, without=question.without, scope=scope
    )
    matches: list[index.Document] = []
    by_key: list[index.Document] = []
    for base in _bases(layer, active=request.active):
        if not corpus_stats.parts.get(base // STEP):
            continue
        ask = partial(index.candidates, db, base=base, limit=request.limit, conditions=conditions)
        some = await ask(matching, expected=expected)
        if len(some) < request.limit and len(rarest) < len(question.terms):
            rest = tuple(each for each in question.terms if each not in rarest)
            some += await ask(replace(matching, terms=rest), expected=EVERYTHING)
        if layer is SearchLayer.MEMORY and question.keys:
            keys = tuple(map(key_term, question.keys))
            by_key += await ask(replace(matching, terms=(), scope=(*scope, keys)), expected=0)
        matches += some
    documents = {each.number: each for each in (*matches, *by_key)}
    named = {each.number: _named(each, question.keys) for each in by_key}
    return [
        Scored(
            number=each.number,
            score=weighing.score(each.fields, each.size),
            document=each,
            named=named.get(each.number, 0),
        )
        for each in documents.values()
    ]


def _named(document: index.Document, keys: Sequence[str]) -> int:
    """Return 2 for a document with a requested topic key, 1 for a key below a requested one."""
    held = f" {document.fields[2]} "
    return 2 if any(f" {' '.join(terms(each))} " in held for each in keys) else 1


def _bases(layer: SearchLayer, *, active: bool | None) -> list[int]:
    if layer is not SearchLayer.MEMORY or active:
        return [BASES[layer]]
    return [ASIDE] if active is False else [BASES[layer], ASIDE]


def _rarest_terms(
    terms: Sequence[str], scope: Sequence[Sequence[str]], corpus: CorpusStats
) -> tuple[tuple[str, ...], int]:
    """Return the terms to search for, and about how many documents contain one of them.

    These are the rarest ones: documents found only by the other terms would rank behind. All terms
    count for the order of the matches.
    """
    groups = (sum(corpus.holding.get(term, 0) for term in group) for group in scope)
    inside = min(groups, default=corpus.documents)
    share = inside / max(1, corpus.documents)
    rarest = sorted(terms, key=lambda each: (corpus.holding.get(each, 0), each))
    looked_for: list[str] = []
    expected, read = 0.0, 0
    for term in rarest:
        holding = corpus.holding.get(term, 0)
        much = expected + holding * share > COUNTED and inside > COUNTED
        enough = len(looked_for) >= MANY_WORDS and expected >= ENOUGH
        if looked_for and (much or enough or read + holding > READ_TERMS):
            break
        looked_for.append(term)
        expected, read = expected + holding * share, read + holding
    if expected > COUNTED and inside > COUNTED:
        return tuple(rarest), EVERYTHING
    return tuple(looked_for), round(min(expected, inside) if terms else inside)
