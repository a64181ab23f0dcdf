"""Comparison of claims that differ only in a word, condition, negation or conjunction."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import product
from typing import Final

from lamplighter.domain.relate.analysis import LIGHT, POLAR, Clause, ClauseWord, Measure
from lamplighter.domain.relate.features import heavy_words, is_flipped
from lamplighter.domain.relate.match import HEAVY, Match, match
from lamplighter.domain.relate.measures import QUANTITIES
from lamplighter.domain.relate.outcome import Outcome

_STARTS: Final = frozenset(["restart", "running±"])
"""A start is the usual condition of later events and does not make another claim."""

_SPANS: Final = frozenset(
    ["last", "spend", "cost", "ended±", "execut", "lived±", "ttl", "available±", "valid", "resum"]
)
"""A duration right after any of these words is how long its subject takes."""

_LEAST_SUBJECT: Final = 0.8
_SLOW: Final = 60.0  # seconds
_DUTY: Final = frozenset([("need±", 1), ("allow±", -1)])
_AT_ONCE: Final = "prompt±"
_OPPOSITE: Final = frozenset(["unless", "before"])
"""The kinds of conditions that are true until their event occurs."""

_PLACES: Final = 200  # more than any clause has
_AMOUNTS: Final = frozenset(["duration", "period", "bytes", "rate", "percent", "clock", "weekday"])
_UNITS: Final = frozenset(["duration", "bytes", "rate", "celsius"])
_LIMITS: Final = QUANTITIES | {"clock", "weekday"}

Gap = tuple[list[ClauseWord], list[ClauseWord]]
"""The words in one position of the sentence, in the old and in the new text."""


def find_replacements(m: Match, least: float = HEAVY) -> list[Gap]:
    """Return the words in which two versions of one sentence differ.

    Empty unless the shared words have the same order, and each significant word of only one text
    has a counterpart in the same position.
    """
    old_ids = {id(pair.old): at for at, pair in enumerate(m.pairs)}
    new_ids = {id(pair.new): at for at, pair in enumerate(m.pairs)}
    old_order, old_gaps = _gaps(m.old, old_ids, least)
    new_order, new_gaps = _gaps(m.new, new_ids, least)
    if old_order != new_order or len(old_order) < len(m.pairs):
        return []
    gaps = list(zip(old_gaps, new_gaps, strict=True))
    if any(bool(left) != bool(right) for left, right in gaps):
        return []
    return [gap for gap in gaps if gap[0]]


def _gaps(
    clauses: Sequence[Clause], shared: Mapping[int, int], least: float
) -> tuple[list[int], list[list[ClauseWord]]]:
    """Return the shared words in order, and the significant words between them."""
    order: list[int] = []
    gaps: list[list[ClauseWord]] = [[]]
    for word in (word for clause in clauses for word in clause.tokens):
        at = shared.get(id(word))
        if at is not None:
            order.append(at)
            gaps.append([])
        elif word.weight >= least:
            gaps[-1].append(word)
    return order, gaps


def is_subject(word: ClauseWord, clauses: Sequence[Clause]) -> bool:
    """Whether a word names the subject of a claim: it comes before the verb.

    If the verb is unknown, the subject is the first word of the claim: a verb in that position
    ("Keeps …") has no article before it and ends in an s.
    """
    for clause in clauses:
        if any(word is each for each in clause.tokens):
            if clause.predicate >= 0:
                return word.place < clause.predicate
            verb = word.place == 1 and word.surface.endswith("s")
            return word is clause.tokens[0] and not verb
    return False


def other_of_its_kind(old: Sequence[Clause], new: Sequence[Clause]) -> str:
    """Return two different ordinals of one thing, such as "second, not first"; empty for none."""
    if len(old) != 1 or len(new) != 1:
        return ""
    for (one, thing), (two, other) in product(old[0].ordinals, new[0].ordinals):
        if one != two and thing == other:
            return f"{two}, not {one}"
    return ""


def has_other_subject(m: Match) -> bool:
    """Whether two texts differ in the subject too, or only one narrows the subject."""
    opposed = any(pair.opposed and not _is_topic(pair.old, m) for pair in m.pairs)
    if (m.measures.unlike or opposed) and len(m.old) == len(m.new) == 1:
        lone = [word for word in (*m.left, *m.right) if word.weight >= HEAVY]
        turned = any(p.opposed and _is_topic(p.old, m) and _is_topic(p.new, m) for p in m.pairs)
        if (turned and m.measures.unlike) or (lone and all(_narrows_topic(w, m) for w in lone)):
            return True
    verbs = all(clause.single for clause in (*m.old, *m.new))
    return any(
        all(any(_is_topic(w, m) for w in side) for side in gap)
        for gap in find_replacements(m, POLAR if verbs or m.measures.unlike else HEAVY)
    )


def renames_subject(m: Match) -> bool:
    """Whether a significant word replaces another one in the subject of a claim."""
    if len(m.old) != 1 or len(m.new) != 1:
        return False
    if any(p.opposed and _narrows_topic(p.old, m) and _narrows_topic(p.new, m) for p in m.pairs):
        return True
    old = _gaps(m.old, {id(pair.old): n for n, pair in enumerate(m.pairs)}, LIGHT)[1]
    new = _gaps(m.new, {id(pair.new): n for n, pair in enumerate(m.pairs)}, LIGHT)[1]
    gaps = [(*one, *two) for one, two in zip(old, new, strict=True) if one and two]
    return any(
        any(word.weight >= HEAVY for word in gap) and all(_is_topic(word, m) for word in gap)
        for gap in gaps
    )


def _narrows_topic(word: ClauseWord, m: Match) -> bool:
    """Whether a word precedes a shared word of the subject: "the websocket listener"."""
    shared = [each for pair in m.pairs for each in (pair.old, pair.new)]
    after = [w for c in (*m.old, *m.new) if any(word is t for t in c.tokens) for w in c.tokens]
    follows = any(w.place == word.place + 1 and any(w is s for s in shared) for w in after)
    return follows and _is_topic(word, m)


def _is_topic(word: ClauseWord, m: Match) -> bool:
    return not word.condition and is_subject(word, (*m.old, *m.new))


def is_value(word: ClauseWord, clauses: Sequence[Clause]) -> bool:
    """Whether a word is the single value that its claim's subject can have.

    A participle after "is" is no value: what is parsed may be indexed too.
    """
    return any(
        clause.single
        and word.place > clause.predicate + word.surface.endswith("ed")
        and not word.condition
        and any(word is each for each in clause.tokens)
        for clause in clauses
    )


def says_how_long(m: Match) -> bool:
    """Whether two claims of one subject differ only in the duration, or in the verb before it."""
    measure_pairs = [*m.measures.same, *m.measures.unlike]
    alone = len(m.old) == len(m.new) == len(measure_pairs) == 1
    if not alone or m.measures.left or m.measures.right or any(map(_qualified, (*m.old, *m.new))):
        return False
    if any(pair.opposed or pair.opposite_signs for pair in m.pairs):
        return False
    shared = sum(pair.old.weight for pair in m.pairs if not _SPANS & _keys(pair.old))
    sides = zip((*m.old, *m.new), measure_pairs[0], (m.left, m.right), strict=True)
    return shared >= _LEAST_SUBJECT and all(_spans(*side) for side in sides)


def _qualified(clause: Clause) -> bool:
    return bool(clause.denials) or clause.often is not None


def _spans(clause: Clause, measure: Measure, rest: Sequence[ClauseWord]) -> bool:
    """Whether a clause ends in a verb and a duration, and nothing else differs."""
    before = [word for word in clause.tokens if word.place < measure.place]
    if measure.kind != "duration" or measure.condition or measure.denied or not before:
        return False
    verb = next((word for word in reversed(before) if _SPANS & _keys(word)), None)
    own = [word for word in rest if word.weight >= POLAR]
    return verb is not None and all(word is verb for word in own)


def _keys(word: ClauseWord) -> frozenset[str]:
    return frozenset(sense.key for sense in word.senses)


def states_amount_once(whole: Match) -> bool:
    """Whether only one of two claims states an amount, and the other states something else."""
    if len(whole.old) > 1 or len(whole.new) > 1:
        return False
    sides = ((whole.old, whole.new, whole.right), (whole.new, whole.old, whole.left))
    return any(
        any(each.kind in _AMOUNTS and not each.condition for c in one for each in c.measures)
        and not any(clause.measures for clause in other)
        and any(not word.condition for word in heavy_words(rest))
        for one, other, rest in sides
    )


def has_other_limits(m: Match) -> bool:
    """Whether one claim is true after a time and the other of a thing, or one takes no time."""
    if len(m.old) != 1 or len(m.new) != 1:
        return False
    for measures, words in ((m.measures.left, m.right), (m.measures.right, m.left)):
        said = [word for word in words if word.weight >= POLAR]
        if any(_AT_ONCE in _keys(word) for word in said):
            return any(each.kind == "duration" and each.low >= _SLOW for each in measures)
        named = any(word.weight >= HEAVY or not (word.end or word.effect) for word in said)
        if measures and named and any(each.condition for each in measures):
            return True
    return False


def permits_what_is_required(m: Match) -> bool:
    """Whether one text demands or forbids something, and the other permits something."""
    duties = [_states_duty(side) for side in (m.old, m.new)]
    permits = [any(each.outcome.permits and not each.only for each in s) for s in (m.old, m.new)]
    return duties[0] != duties[1] and permits[0] != permits[1] and duties[0] != permits[0]


def _states_duty(clauses: Sequence[Clause]) -> bool:
    senses = (sense for each in clauses for word in each.tokens for sense in word.senses)
    return any((sense.key, sense.sign) in _DUTY for sense in senses)


def excludes_others(m: Match) -> bool:
    """Whether one text limits a claim to a subject, and the other makes it of any other one."""
    if len(m.old) != 1 or len(m.new) != 1 or m.measures.left or m.measures.right:
        return False
    old, new = m.old[0], m.new[0]
    starts = (
        min((p.old.place for p in m.pairs), default=0),
        min((p.new.place for p in m.pairs), default=0),
    )
    for words, start in zip((m.left, m.right), starts, strict=True):
        own = [word.place for word in words if word.weight >= POLAR]
        if not own or max(own) > start:
            return False
    limits = {(each.only, each.amount == "all") for each in (old, new)}
    return limits == {(True, False), (False, True)} and not (old.denials or new.denials)


def have_other_fillers(whole: Match) -> bool:
    """Whether each names something that the other does not: a host, a path, a port, a version."""
    left = _has_name(whole.left, whole.measures.left)
    right = _has_name(whole.right, whole.measures.right)
    rest = (whole.measures.left, whole.measures.right)
    apart = all(any(each.kind in _UNITS or each.bound for each in side) for side in rest)
    return bool(whole.measures.unlike) or apart or (left and right)


def _has_name(words: Sequence[ClauseWord], measures: Sequence[Measure]) -> bool:
    return any(each.name for each in words) or any(each.kind not in QUANTITIES for each in measures)


def find_added_condition(m: Match) -> list[str]:
    """Return the words of a condition that only one of the two texts states."""
    return _added(m.old, m.new, m.right) or _added(m.new, m.old, m.left)


def _added(
    clauses: Sequence[Clause], other: Sequence[Clause], rest: Sequence[ClauseWord]
) -> list[str]:
    if any(each.otherwise or any(w.condition for w in each.tokens) for each in clauses):
        return []
    unmatched = {id(word) for word in rest}
    said = {each.text for clause in clauses for each in clause.measures}
    for clause in other:
        if any(not word.condition and id(word) not in unmatched for word in clause.tokens):
            found = _own_condition(clause, unmatched, said)
            if found:
                return found
    return []


def _own_condition(clause: Clause, unmatched: Set[int], said: Set[str]) -> list[str]:
    """Return the words of a condition that only this clause states."""
    words = [word for word in clause.tokens if word.condition]
    own = [word for word in words if id(word) in unmatched]
    when = [each.text for each in clause.measures if _limits(each) and each.text not in said]
    excepted = own and clause.cancels and not clause.denials
    whole = len(own) == len(words) and not clause.measures and any(map(_narrows, own))
    return [*(word.label for word in own), *when] if when or excepted or whole else []


def _limits(measure: Measure) -> bool:
    """Whether a measure states when a claim is true, or an exception from it."""
    return measure.condition and (measure.denied or measure.kind == "weekday")


def _narrows(word: ClauseWord) -> bool:
    return word.weight >= POLAR and word.senses[0].key not in _STARTS


def compare_links(m: Match) -> str:
    """Return how the conditions of two texts of the same words differ.

    "negates" if one condition is the opposite of the other, "denies" if the claims are, under one
    condition, "differs" if both may be true, "" if they agree, or if the words of one condition are
    no condition in the other text.
    """
    links = list(_links(m))
    if any(bool(one) != bool(two) for one, two in links):
        return ""
    kinds = {frozenset(pair) for pair in links}
    turned = any(len(pair) > 1 and len(pair & _OPPOSITE) == 1 for pair in kinds)
    if not turned and _is_denied(m):
        return "denies"
    if (turned + _flips(m)) % 2 and turned:
        return "differs" if frozenset(("before", "after")) in kinds else "negates"
    if frozenset(("only", "despite")) in kinds:
        return "negates"
    lone = [*m.left, *m.right]
    turns = not turned and _flips(m) == _tells(lone) == 1
    doubtful = turns and sum(word.weight for word in lone) <= HEAVY
    return "differs" if doubtful or frozenset(("because", "despite")) in kinds else ""


def compare_limits(m: Match) -> str:
    """Return "negates" if one text limits a claim to a thing that the other adds, else ""."""
    sides = [
        (any(each.only for each in side), any(each.also or each.amount == "all" for each in side))
        for side in (m.old, m.new)
    ]
    return "negates" if {(True, False), (False, True)} == set(sides) else ""


def _links(m: Match) -> Iterator[tuple[str, str]]:
    """Yield the links of the words and measures that both texts contain."""
    for pair in m.pairs:
        if min(pair.old.weight, pair.new.weight) > LIGHT:
            yield _link(pair.old, m.old), _link(pair.new, m.new)
    for one, two in m.measures.same:
        yield _link(one, m.old), _link(two, m.new)


def _link(item: ClauseWord | Measure, clauses: Sequence[Clause]) -> str:
    for clause in clauses:
        if any(item is each for each in (*clause.tokens, *clause.measures)):
            if not item.condition:
                return clause.opener
            return next((kind for kind, at in reversed(clause.links) if at < item.place), "if")
    return ""


def _is_denied(m: Match) -> bool:
    """Whether only a "not", or one word of opposite meaning, distinguishes two claims."""
    denied = sum(each.denials + each.denied_conditions for each in (*m.old, *m.new))
    opposed = [pair for pair in m.pairs if pair.opposed]
    unlike = any(pair.opposite_signs and not pair.opposed for pair in m.pairs)
    alone = len(m.old) == len(m.new) == 1
    lone = [*m.left, *m.right]
    same_words = sum(word.weight for word in lone) <= POLAR
    return bool(
        alone and (denied + len(opposed)) % 2 and same_words and not unlike and _tells(lone) == 0
    )


def _flips(m: Match) -> int:
    """Count the negations and antonyms that make one of two texts oppose the other."""
    denied = sum(each.denials + each.denied_conditions for each in (*m.old, *m.new))
    unlike = sum(pair.opposed or pair.opposite_signs for pair in m.pairs)
    return denied + unlike + _tells([*m.left, *m.right])


def _tells(words: Sequence[ClauseWord]) -> int:
    """Count the negative words."""
    return sum(word.senses[0].tells < 0 for word in words if word.weight >= POLAR)


def leave_out_several(
    old: Sequence[Clause], new: Sequence[Clause]
) -> tuple[tuple[Clause, ...], tuple[Clause, ...]] | None:
    """Leave out of two texts what has several values and is another one in each; None for none."""
    left, right = list(old), list(new)
    for at, one in enumerate(old):
        nth = max(range(len(new)), key=lambda n: _likeness(one, new[n]), default=-1)
        if nth < 0:
            continue
        also = one.also or new[nth].also
        (value, frame), (other, same) = _parts(one, also=also), _parts(new[nth], also=also)
        need = any(sense.key == "need±" for word in frame.tokens for sense in word.senses)
        if _is_one_frame(frame, same) and _are_other_values(value, other, need=need):
            left[at], right[nth] = frame, same
    if left == list(old):
        return None
    return tuple(filter(_says, left)), tuple(filter(_says, right))


def _says(clause: Clause) -> bool:
    return bool(clause.tokens or clause.measures)


def _likeness(one: Clause, two: Clause) -> tuple[bool, float]:
    m = match((one,), (two,))
    return one.opener == two.opener, m.cover[0] * m.cover[1] * m.size


def _is_one_frame(one: Clause, two: Clause) -> bool:
    """Whether two clauses are one sentence, but for what is left out of them."""
    m = match((one,), (two,))
    order = [pair.new.place for pair in sorted(m.pairs, key=lambda pair: pair.old.place)]
    return order == sorted(order) and all(word.weight < POLAR for word in (*m.left, *m.right))


def _parts(clause: Clause, *, also: bool) -> tuple[Clause, Clause]:
    """Return what of a clause has several values at a time, and the rest.

    Of two texts of which one says "also", each value is one of several.
    """
    places = set(clause.several)
    if also:
        places.update(range(clause.predicate + 1, _PLACES))
    return _part(clause, places, inside=True), _part(clause, places, inside=False)


def _part(clause: Clause, places: Set[int], *, inside: bool) -> Clause:
    return replace(
        clause,
        tokens=tuple(w for w in clause.tokens if (w.place in places) == inside),
        measures=tuple(m for m in clause.measures if (m.place in places) == inside),
        denials=0 if inside else clause.denials,
        denied_conditions=clause.denied_conditions if inside else 0,
        outcome=clause.outcome if inside else Outcome(clause.outcome.sign),
    )


def _are_other_values(one: Clause, two: Clause, *, need: bool) -> bool:
    """Whether two such values are of other things, and not opposite states or amounts of one."""
    m = match((one,), (two,))
    left, right = ([word for word in side if word.weight >= POLAR] for side in (m.left, m.right))
    things = [pair for pair in m.pairs if pair.opposed and pair.one.thing]
    if things or ((left or m.measures.left) and (right or m.measures.right)):
        return True
    unlike = m.measures.unlike
    return (
        bool(unlike)
        and not is_flipped(m)
        and all(_are_names(pair, one, two, need=need) for pair in unlike)
    )


def _are_names(pair: tuple[Measure, Measure], one: Clause, two: Clause, *, need: bool) -> bool:
    """Whether two measures are names of two things: of ports, but not of the port of one thing."""
    return not (
        any(each.kind in _LIMITS or each.bound for each in pair)
        or any(_belongs(*each, need=need) for each in zip(pair, (one, two), strict=True))
    )


def _belongs(measure: Measure, clause: Clause, *, need: bool) -> bool:
    """Whether a measure is an attribute of a thing that is named before: "the API on port 80".

    So are the version of what is needed, and one since which or until which something holds.
    """
    place = measure.place
    before = {word.place: word for word in clause.tokens if word.place < place}
    if measure.kind == "version" and any(
        kind in ("before", "after") and at >= place - 2 for kind, at in clause.links if at < place
    ):
        return True
    while not (need and measure.kind == "version") and place - 1 in before:
        place -= 1
        del before[place]
    return any(word.weight >= POLAR for word in before.values())
