"""Search: the best matches for a query, with the reasons.

Keyword results are always complete, however late; a deadline cuts the optional parts only.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeVar

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Memory, Reach
from lamplighter.domain.memory.metadata import metadata_pairs
from lamplighter.domain.search import ranking
from lamplighter.domain.search.query import ParsedQuery, parse_query
from lamplighter.domain.search.ranking import (
    KEY_SCORE,
    MEANING,
    NEXT_TO,
    QueryWeights,
    best_passage,
)
from lamplighter.domain.search.search import (
    UNINDEXED,
    VECTORS,
    NoSemanticSearch,
    ScoreReason,
    SearchLayer,
    SearchMethod,
    SearchRequest,
    SearchResult,
    SearchResults,
    SemanticIndex,
)
from lamplighter.domain.search.terms import normalize_key
from lamplighter.domain.services.service import GENERAL, is_same_service, normalize_service_name
from lamplighter.domain.text import normalize_project
from lamplighter.repository import Database
from lamplighter.repository.search import index
from lamplighter.repository.search.index import (
    Deadline,
    DeadlineExceeded,
    IndexedRow,
    fetch_rows,
    layer_of,
    time_limit,
)
from lamplighter.usecases import instrumentation
from lamplighter.usecases.search import keyword_search as keywords
from lamplighter.usecases.search.keyword_search import (
    Nearest,
    Scored,
    merge_semantic,
    start_semantic_search,
)

T = TypeVar("T")

DEADLINE_SECONDS: Final = 0.25
PATIENCE_SECONDS: Final = 20.0
"""Keyword results that take longer are an error: an empty list would mean "no knowledge"."""

FEW_WAITING: Final = 500
CATCHING_SECONDS: Final = 0.1
CATCHING_FEW_SECONDS: Final = 1.0
"""How long a search waits for indexing, with many and with few unindexed rows."""

SMALL_STORE: Final = 5_000
"""Up to this number of documents every layer is searched completely, whatever the deadline."""

BUSY: Final = (
    f"The search did not finish within {PATIENCE_SECONDS:g} s because the machine is "
    f"overloaded. Try again."
)
READ: Final = 6
READ_LEAST: Final = 30
READ_MORE: Final = 2
"""Extra rows to read, because some may no longer match since they were indexed."""


@instrumentation.trace_search
async def find(
    db: Database,
    request: SearchRequest,
    *,
    now: datetime,
    near: SemanticIndex | None = None,
    seconds: float = DEADLINE_SECONDS,
) -> SearchResults:
    """Search all layers; any text is a valid query.

    After `seconds` the optional parts that are not ready are left out and named in `missing`.
    Raises Unavailable if even the keyword results are not available.
    """
    question = parse_query(request, now=now)
    if question.empty:
        return SearchResults(layers=question.request.layers, filters=question.filters)
    deadline, layers = Deadline(seconds), keywords.layers_of(question.request)
    missing = [] if await catch_up(db, layers) else [UNINDEXED]
    near = near if question.terms and SearchLayer.MEMORY in layers else None
    installed = not isinstance(near, NoSemanticSearch)
    # two searches at once would share the connection of a transaction
    with start_semantic_search(near, question, ahead=not db.in_transaction) as nearest:
        scored, weights, late = await _by_keywords(db, question, layers, deadline)
        missing += late
        both = scored
        if near is not None:
            fused = await _add_semantic(scored, question, near, nearest, weights, deadline)
            both = scored if fused is None else fused
            missing += [VECTORS] if fused is None else []
    found = await _with_patience(db, _best_results(db, question, sorted(both, key=_order), weights))
    return SearchResults(
        results=tuple(found),
        terms=question.terms,
        partial=bool(missing if installed else [each for each in missing if each != VECTORS]),
        missing=tuple(missing),
        layers=question.request.layers,
        filters=question.filters,
    )


async def catch_up(db: Database, layers: Sequence[SearchLayer] = (SearchLayer.MEMORY,)) -> bool:
    """Index the pending rows; return whether none is left.

    Within a transaction nothing is written.
    """
    if not await index.has_pending(db, layers):
        return True
    if db.in_transaction:
        return False
    few = await index.count_pending(db, layers, most=FEW_WAITING + 1) <= FEW_WAITING
    seconds = CATCHING_FEW_SECONDS if few else CATCHING_SECONDS
    await index.catch_up_within(db, layers, seconds=seconds)
    return not await index.has_pending(db, layers)


async def _with_patience(db: Database, work: Coroutine[Any, Any, T]) -> T:
    """Return a required result; raises Unavailable if it takes longer than PATIENCE_SECONDS."""
    with closing(work):
        try:
            async with time_limit(db, Deadline(PATIENCE_SECONDS)):
                return await work
        except DeadlineExceeded as late:
            raise Unavailable(BUSY) from late


async def _by_keywords(
    db: Database, question: ParsedQuery, layers: Sequence[SearchLayer], deadline: Deadline
) -> tuple[list[Scored], QueryWeights, list[str]]:
    """Return the matches, the weights of the terms, and the layers that exceeded the deadline."""
    scored, weights, rest = await _with_patience(db, _required(db, question, layers))
    late: list[str] = []
    for layer in rest:
        work = keywords.score_layer(db, question, layer, weights)
        with closing(work):
            try:
                async with time_limit(db, deadline):
                    scored += await work
            except DeadlineExceeded:
                late.append(layer.value)
    return scored, weights, late


async def _required(
    db: Database, question: ParsedQuery, layers: Sequence[SearchLayer]
) -> tuple[list[Scored], QueryWeights, Sequence[SearchLayer]]:
    """Return the matches in the first layer (all layers of a small store), and the layers left."""
    held = await keywords.corpus(db, question, layers)
    words = QueryWeights(question.terms, held)
    first = len(layers) if held.documents <= SMALL_STORE else 1
    scored: list[Scored] = []
    for layer in layers[:first]:
        scored += await keywords.score_layer(db, question, layer, words)
    return scored, words, layers[first:]


async def _add_semantic(
    scored: Sequence[Scored],
    question: ParsedQuery,
    near: SemanticIndex,
    nearest: Nearest | None,
    weights: QueryWeights,
    deadline: Deadline,
) -> list[Scored] | None:
    """Return the merged matches; None if the model is late, is being loaded or is not installed."""
    if isinstance(nearest, asyncio.Task):
        await asyncio.wait({nearest}, timeout=deadline.left)
        if not nearest.done():
            return None
    elif not deadline.left:
        return None
    return await merge_semantic(scored, question, near, nearest, full=weights.full)


async def _best_results(
    db: Database, question: ParsedQuery, scored: Sequence[Scored], weights: QueryWeights
) -> list[SearchResult]:
    """Return the best matches, from their stored rows."""
    limit = question.request.limit
    results: list[SearchResult] = []
    while scored and len(results) < limit:
        at_once = _worth_reading(scored, limit - len(results), question)
        part, scored = scored[:at_once], scored[at_once:]
        held = await fetch_rows(db, [each.number for each in part])
        results += [
            _make_result(held[each.number], each, question, weights)
            for each in part
            if each.number in held and _matches(held[each.number], question)
        ]
    results.sort(key=lambda each: (-each.score, each.layer, -each.row.id))
    return [
        _with_passage(replace(each, rank=rank), question)
        for rank, each in enumerate(results[:limit], 1)
    ]


def _worth_reading(scored: Sequence[Scored], limit: int, question: ParsedQuery) -> int:
    """Return how many of the matches can be among the first, whatever else adds to their scores."""
    most = max(READ_LEAST, READ * limit)
    enough = scored[:limit][-1].score
    able = (
        each.named or ranking.max_score(each.score, each.fields, question) >= enough
        for each in scored[limit:most]
    )
    return limit + READ_MORE + sum(able)


def _matches(row: IndexedRow, question: ParsedQuery) -> bool:
    """Whether a row matches the request: it may have changed since, or be a semantic match."""
    if not isinstance(row, Memory):
        return True
    request, tags = question.request, {tag.casefold() for tag in row.tags}
    expired = row.expires_at is not None and row.expires_at <= question.now
    return (
        request.active in (None, row.active and not expired)
        and request.kind in (None, row.kind)
        and (not request.categories or row.category in request.categories)
        and (request.project is None or Reach(normalize_project(request.project)).holds(row))
        and (request.service is None or _is_of_service(row, request.service, request))
        and (request.since is None or row.updated_at >= request.since)
        and all(tag.casefold().strip() in tags for tag in request.tags)
        and set(request.metadata) <= set(metadata_pairs(row.metadata))
    )


def _is_of_service(row: Memory, service: str, request: SearchRequest) -> bool:
    if row.service is None:
        return request.general or normalize_service_name(service) == GENERAL
    return is_same_service(row.service, service)


def _make_result(
    row: IndexedRow, each: Scored, question: ParsedQuery, words: QueryWeights
) -> SearchResult:
    reasons = each.reasons(words)
    means = [reason.what for reason in reasons] == [MEANING]
    method = (
        SearchMethod.MEANING if means else SearchMethod.WORDS if reasons else SearchMethod.RECENT
    )
    reasons = [ScoreReason(_spelled(each.what, question), each.score) for each in reasons]
    if isinstance(row, Memory) and row.topic_key and question.keys:
        key = normalize_key(row.topic_key)
        if any(key == asked or key.startswith(f"{asked}/") for asked in question.keys):
            exact = 1.0 if key in question.keys else 0.5
            reasons.append(ScoreReason(f"topic key {row.topic_key}", KEY_SCORE * exact))
            method = SearchMethod.TOPIC_KEY
    reasons += ranking.name_reasons(row, question, each.score)
    return SearchResult(
        layer=layer_of(each.number),
        row=row,
        rank=0,
        score=ranking.total_score(reasons),
        method=method,
        text="",
        reasons=tuple(sorted(reasons, key=lambda each: (-each.score, each.what))),
    )


def _spelled(what: str, question: ParsedQuery) -> str:
    """Return a term as it was typed in the query."""
    lead = NEXT_TO if what.startswith(NEXT_TO) else ""
    term = what.removeprefix(lead)
    return f"{lead}{question.spelled.get(term, term)}"


def _with_passage(each: SearchResult, question: ParsedQuery) -> SearchResult:
    """Return a result with its best passage; a literal request, for a prompt, needs only rows."""
    row = each.row
    if question.request.literal:
        return each
    text = row.observation if isinstance(row, Memory) else getattr(row, "text", "")
    if each.layer is SearchLayer.SESSION:
        text = getattr(row, "summary", "")
    said, spans = best_passage(text, question.terms)
    return replace(each, text=said, spans=spans)


def _order(each: Scored) -> tuple[int, float, int]:
    return -each.named, -each.score, -each.number
