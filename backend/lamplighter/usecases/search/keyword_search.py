"""Keyword search: which documents of the index match, and what the words of each count."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from lamplighter.domain.search import scope_terms
from lamplighter.domain.search.query import ParsedQuery
from lamplighter.domain.search.ranking import CorpusStats, QueryWeights
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.domain.search.terms import terms
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.search import index
from lamplighter.repository.search.index import COUNTED, RANKED, MatchTerms, is_newer
from lamplighter.repository.store.database import home_of
from lamplighter.repository.store.tables import ASIDE, BASES, STEP
from lamplighter.usecases.search.fusion import Scored

READ_TERMS: Final = 30_000
"""Of how many documents at most the index is read for the words that are looked for."""

MANY_WORDS: Final = 20
ENOUGH: Final = 5 * RANKED
"""Of a long prompt the rarest words are looked for until they find about so many."""

EVERYTHING: Final = 2**62


def layers_of(request: SearchRequest) -> list[SearchLayer]:
    """Return the layers that can hold what is wanted: only memories have a category."""
    narrow = (request.categories, request.kind, request.tags, request.metadata)
    of_memories = any(narrow) or request.active is False
    return [each for each in request.layers if each is SearchLayer.MEMORY or not of_memories]


def _scope(db: Database, request: SearchRequest, layer: SearchLayer) -> tuple[tuple[str, ...], ...]:
    """Return the groups of terms of which one each must hold of what is wanted."""
    groups: list[tuple[str, ...]] = []
    if layer is SearchLayer.PAGE:
        groups.append((scope_terms.home_term(home_of(db)),))
    if request.project is not None:
        everywhere = (scope_terms.EVERYWHERE,) if layer is SearchLayer.MEMORY else ()
        groups.append((scope_terms.project_term(request.project), *everywhere))
    if request.service is not None:
        general = (scope_terms.NO_SERVICE,) if request.general else ()
        groups.append((*dict.fromkeys((_service(request.service), *general)),))
    if request.categories:
        groups.append(tuple(map(scope_terms.category_term, dict.fromkeys(request.categories))))
    if request.kind is not None:
        groups.append((scope_terms.kind_term(request.kind),))
    groups += [(scope_terms.tag_term(tag),) for tag in request.tags]
    groups += [(scope_terms.metadata_term(*pair),) for pair in request.metadata]
    return tuple(groups)


def _service(name: str) -> str:
    return scope_terms.service_term(None if normalize_service_name(name) == GENERAL else name)


async def corpus(db: Database, question: ParsedQuery, layers: Sequence[SearchLayer]) -> CorpusStats:
    """Return how much is indexed, and how many documents hold each term of a query."""
    groups = {
        term for each in layers for group in _scope(db, question.request, each) for term in group
    }
    return await index.corpus(db, question, sorted(groups))


async def score_layer(
    db: Database, question: ParsedQuery, layer: SearchLayer, weighing: QueryWeights
) -> list[Scored]:
    """Return what matches in one layer, with what its words count."""
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
            keys = tuple(map(scope_terms.key_term, question.keys))
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
    """Return 2 for what holds a topic key as it is asked for, 1 for a key below it."""
    held = f" {document.fields[2]} "
    return 2 if any(f" {' '.join(terms(each))} " in held for each in keys) else 1


def _bases(layer: SearchLayer, *, active: bool | None) -> list[int]:
    if layer is not SearchLayer.MEMORY or active:
        return [BASES[layer]]
    return [ASIDE] if active is False else [BASES[layer], ASIDE]


def _rarest_terms(
    terms: Sequence[str], scope: Sequence[Sequence[str]], corpus: CorpusStats
) -> tuple[tuple[str, ...], int]:
    """Return the words by which to look, and about how many documents hold one of them.

    The rarest: what others would find besides would stand behind. They all count for the
    order of what is found.
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
