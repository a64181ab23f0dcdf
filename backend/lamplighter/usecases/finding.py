"""Finding: the best of what is known for a query, with the reasons and in time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from lamplighter.domain import ranking, scoping
from lamplighter.domain.agent import project_of
from lamplighter.domain.fusion import MEANING
from lamplighter.domain.memory import Memory
from lamplighter.domain.passage import passage
from lamplighter.domain.query import Asked, asked
from lamplighter.domain.ranking import KEY_SCORE, NOTHING, Corpus, Words
from lamplighter.domain.search import Found, Layer, Method, Near, Reason, Results, Wanted
from lamplighter.domain.service import GENERAL, fold
from lamplighter.domain.terms import terms
from lamplighter.repository import Database, index, taking_in
from lamplighter.repository.deadline import Deadline, Late, by
from lamplighter.repository.found import Row, layer_of, rows
from lamplighter.repository.index import COUNTED, RANKED, Matching
from lamplighter.repository.since import since
from lamplighter.repository.tables_search import ASIDE, BASES, STEP
from lamplighter.usecases import observed
from lamplighter.usecases.fusing import Scored, looking, with_meaning

DEADLINE_SECONDS: Final = 0.25
CATCHING_UP: Final = 0.4
CATCHING_SECONDS: Final = 0.1
"""The share of the time that may go to what waits to be indexed."""

VECTORS: Final = "vectors"
EVERYONE: Final = "global"
GRACE_SECONDS: Final = 0.1
READ_TERMS: Final = 30_000
"""Of how many documents at most the index is read for the words that are looked for."""

MANY_WORDS: Final = 20
ENOUGH: Final = 5 * RANKED
"""Of a long prompt the rarest words are looked for until they find about so many."""

EVERYTHING: Final = 2**62
READ: Final = 6
READ_LEAST: Final = 30
READ_MORE: Final = 2
"""Rows may have changed since they were indexed: then some do not fit."""


@observed.search
async def find(
    db: Database,
    wanted: Wanted,
    *,
    now: datetime,
    near: Near | None = None,
    seconds: float = DEADLINE_SECONDS,
) -> Results:
    """Search all that is known; whatever is typed is a valid query.

    After `seconds` it answers with what it has, and says what is missing.
    """
    question = asked(wanted, now=now)
    if question.empty:
        return Results(layers=question.wanted.layers, filters=question.filters)
    deadline, layers = Deadline(seconds), _layers(question.wanted)
    await caught_up(db, layers, seconds=seconds * CATCHING_UP)
    near = near if question.terms and Layer.MEMORY in layers else None
    without: list[str] = []
    # two at once would share the connection of a transaction
    with looking(near, question, ahead=not db.in_transaction) as nearest:
        scored, words, missing = await _by_words(db, question, layers, deadline)
        if near is not None:
            both = await with_meaning(scored, question, near, nearest, full=words.full)
            without, scored = ([VECTORS], scored) if both is None else ([], both)
    found: list[Found] = []
    try:
        async with by(db, Deadline(max(deadline.left, GRACE_SECONDS))):
            found = await _found(db, question, sorted(scored, key=_order), words)
    except Late:
        missing = [layer.value for layer in layers]
    return Results(
        found=tuple(found),
        terms=question.terms,
        partial=bool(missing),
        missing=(*missing, *without),
        layers=question.wanted.layers,
        filters=question.filters,
    )


async def caught_up(
    db: Database, layers: Sequence[Layer] = (Layer.MEMORY,), *, seconds: float = CATCHING_SECONDS
) -> None:
    """Take in what waits to be indexed; within a transaction nothing is written."""
    if not db.in_transaction:
        await taking_in.catch_up_within(db, layers, seconds=seconds)


async def _by_words(
    db: Database, question: Asked, layers: Sequence[Layer], deadline: Deadline
) -> tuple[list[Scored], Words, list[str]]:
    """Return what matches, what the words weigh, and the layers for which time ran out."""
    scored: list[Scored] = []
    words = Words((), NOTHING)
    late = [layer.value for layer in layers]
    try:
        async with by(db, deadline):
            held = await _corpus(db, question, layers)
            words = Words(question.terms, held)
            for layer in layers:
                scored += await _scored(db, question, layer, held, words)
                late.remove(layer.value)
    except Late:
        pass
    return scored, words, late


def _layers(wanted: Wanted) -> list[Layer]:
    """Return the layers that can hold what is wanted: only memories have a category."""
    of_memories = wanted.categories or wanted.kind or wanted.tags or wanted.active is False
    return [each for each in wanted.layers if each is Layer.MEMORY or not of_memories]


def _scope(wanted: Wanted, layer: Layer) -> tuple[tuple[str, ...], ...]:
    """Return the groups of terms of which one each must hold of what is wanted."""
    groups: list[tuple[str, ...]] = []
    if wanted.project is not None:
        everywhere = (scoping.EVERYWHERE,) if layer is Layer.MEMORY else ()
        groups.append((scoping.of_project(wanted.project), *everywhere))
    if wanted.service is not None:
        general = (scoping.NO_SERVICE,) if wanted.general else ()
        groups.append((*dict.fromkeys((_service(wanted.service), *general)),))
    if wanted.categories:
        groups.append(tuple(map(scoping.of_category, dict.fromkeys(wanted.categories))))
    if wanted.kind is not None:
        groups.append((scoping.of_kind(wanted.kind),))
    groups += [(scoping.of_tag(tag),) for tag in wanted.tags]
    return tuple(groups)


def _service(name: str) -> str:
    return scoping.of_service(None if fold(name) == GENERAL else name)


async def _corpus(db: Database, question: Asked, layers: Sequence[Layer]) -> Corpus:
    groups = {term for each in layers for group in _scope(question.wanted, each) for term in group}
    return await index.corpus(db, question, sorted(groups))


async def _scored(
    db: Database, question: Asked, layer: Layer, held: Corpus, weighing: Words
) -> list[Scored]:
    """Return what matches in one layer, with what its words count."""
    wanted, scope = question.wanted, _scope(question.wanted, layer)
    conditions = None if wanted.since is None else since(layer, wanted.since)
    words, expected = _telling(question.terms, scope, held)
    matching = Matching(
        words=words, phrases=question.phrases, without=question.without, scope=scope
    )
    found: list[index.Document] = []
    by_key: list[index.Document] = []
    for base in _bases(layer, active=wanted.active):
        if not held.parts.get(base // STEP):
            continue
        ask = partial(index.candidates, db, base=base, limit=wanted.limit, conditions=conditions)
        some = await ask(matching, expected=expected)
        if len(some) < wanted.limit and len(words) < len(question.terms):
            rest = tuple(each for each in question.terms if each not in words)
            some += await ask(replace(matching, words=rest), expected=EVERYTHING)
        if layer is Layer.MEMORY and question.keys:
            keys = tuple(map(scoping.of_key, question.keys))
            by_key += await ask(replace(matching, words=(), scope=(*scope, keys)), expected=0)
        found += some
    documents = {each.number: each for each in (*found, *by_key)}
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
    """Return 2 for what holds a topic key as it is asked for, 1 for what stands below one."""
    held = f" {document.fields[2]} "
    return 2 if any(f" {' '.join(terms(each))} " in held for each in keys) else 1


def _bases(layer: Layer, *, active: bool | None) -> list[int]:
    if layer is not Layer.MEMORY or active:
        return [BASES[layer]]
    return [ASIDE] if active is False else [BASES[layer], ASIDE]


def _telling(
    terms: Sequence[str], scope: Sequence[Sequence[str]], held: Corpus
) -> tuple[tuple[str, ...], int]:
    """Return the words by which to look, and about how many documents hold one of them.

    The rarest: what others would find besides would stand behind. They all count for the
    order of what is found.
    """
    groups = (sum(held.holding.get(term, 0) for term in group) for group in scope)
    inside = min(groups, default=held.documents)
    share = inside / max(1, held.documents)
    rarest = sorted(terms, key=lambda each: (held.holding.get(each, 0), each))
    looked_for: list[str] = []
    expected, read = 0.0, 0
    for term in rarest:
        holding = held.holding.get(term, 0)
        much = expected + holding * share > COUNTED and inside > COUNTED
        enough = len(looked_for) >= MANY_WORDS and expected >= ENOUGH
        if looked_for and (much or enough or read + holding > READ_TERMS):
            break
        looked_for.append(term)
        expected, read = expected + holding * share, read + holding
    if expected > COUNTED and inside > COUNTED:
        return tuple(rarest), EVERYTHING
    return tuple(looked_for), round(min(expected, inside) if terms else inside)


async def _found(
    db: Database, question: Asked, scored: Sequence[Scored], words: Words
) -> list[Found]:
    """Return the best of what matches, as it stands in its rows."""
    limit = question.wanted.limit
    found: list[Found] = []
    while scored and len(found) < limit:
        at_once = _worth_reading(scored, limit - len(found), question)
        part, scored = scored[:at_once], scored[at_once:]
        held = await rows(db, [each.number for each in part])
        found += [
            _as_found(held[each.number], each, question, words)
            for each in part
            if each.number in held and _fits(held[each.number], question.wanted)
        ]
    found.sort(key=lambda each: (-each.score, each.layer, -each.row.id))
    return [
        _shown(replace(each, rank=rank), question) for rank, each in enumerate(found[:limit], 1)
    ]


def _worth_reading(scored: Sequence[Scored], limit: int, question: Asked) -> int:
    """Return how many of what matches can be among the first, whatever else counts for them."""
    most = max(READ_LEAST, READ * limit)
    enough = scored[:limit][-1].score
    able = (
        each.named or ranking.most(each.score, each.fields, question) >= enough
        for each in scored[limit:most]
    )
    return limit + READ_MORE + sum(able)


def _fits(row: Row, wanted: Wanted) -> bool:
    """Whether a row is what is wanted: it may have changed since, or be found by meaning."""
    if not isinstance(row, Memory):
        return True
    tags = {tag.casefold() for tag in row.tags}
    return (
        wanted.active in (None, row.active)
        and wanted.kind in (None, row.kind)
        and (not wanted.categories or row.category in wanted.categories)
        and (wanted.project is None or _is_of_project(row, wanted.project))
        and (wanted.service is None or _is_of_service(row, wanted.service, wanted))
        and (wanted.since is None or row.updated_at >= wanted.since)
        and all(tag.casefold().strip() in tags for tag in wanted.tags)
    )


def _is_of_project(row: Memory, project: str) -> bool:
    return row.scope == EVERYONE or project_of(row.project) == project_of(project)


def _is_of_service(row: Memory, service: str, wanted: Wanted) -> bool:
    if row.service is None:
        return wanted.general or fold(service) == GENERAL
    return fold(row.service) == fold(service)


def _as_found(row: Row, each: Scored, question: Asked, words: Words) -> Found:
    reasons = each.reasons(words)
    means = [reason.what for reason in reasons] == [MEANING]
    method = Method.MEANING if means else Method.WORDS if reasons else Method.RECENT
    reasons = [Reason(question.spelled.get(each.what, each.what), each.score) for each in reasons]
    if isinstance(row, Memory) and row.topic_key and question.keys:
        key = scoping.key_form(row.topic_key)
        if any(key == asked or key.startswith(f"{asked}/") for asked in question.keys):
            exact = 1.0 if key in question.keys else 0.5
            reasons.append(Reason(f"topic key {row.topic_key}", KEY_SCORE * exact))
            method = Method.TOPIC_KEY
    reasons += ranking.by_name(row, question, each.score)
    return Found(
        layer=layer_of(each.number),
        row=row,
        rank=0,
        score=ranking.total(reasons),
        method=method,
        text="",
        reasons=tuple(sorted(reasons, key=lambda each: (-each.score, each.what))),
    )


def _shown(each: Found, question: Asked) -> Found:
    """Return what was found with the passage that answers best; to a prompt rows are enough."""
    row = each.row
    if question.wanted.plain:
        return each
    text = row.observation if isinstance(row, Memory) else getattr(row, "text", "")
    if each.layer is Layer.SESSION:
        text = getattr(row, "summary", "")
    said, spans = passage(text, question.terms)
    return replace(each, text=said, spans=spans)


def _order(each: Scored) -> tuple[int, float, int]:
    return -each.named, -each.score, -each.number
