"""Classify the relation of two observations, with a reason."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from lamplighter.domain.memory.frames import FRAMES, Frame
from lamplighter.domain.relate.analysis import POLAR, Analysis, Clause, ClauseWord, Measure
from lamplighter.domain.relate.features import (
    Comparison,
    Weights,
    build_comparison,
    heavy_words,
    load_weights,
    remove_shared_claims,
)
from lamplighter.domain.relate.match import Match, match
from lamplighter.domain.relate.measures import QUANTITIES, measures_agree
from lamplighter.domain.relate.replaced import (
    compare_limits,
    compare_links,
    excludes_others,
    find_added_condition,
    find_replacements,
    has_other_limits,
    has_other_subject,
    have_other_fillers,
    is_subject,
    is_value,
    leave_out_several,
    other_of_its_kind,
    permits_what_is_required,
    renames_subject,
    says_how_long,
    states_amount_once,
)
from lamplighter.domain.relate.slots import agreeing_slot, differing_slots
from lamplighter.domain.relate.text import split_items
from lamplighter.domain.text import shorten

# Thresholds, tuned on labeled pairs. The worst error is to classify a contradiction as
# a reinforcement: likely conflicts are not reinforced, and uncertain pairs have no effect.
# Chosen with the scores of `unseen` and `two_clauses` in view: docs/explanation/relate.md.
APART: Final = 0.45
LIKELY: Final = 0.45  # below it, fewer than half are conflicts
LIKELY_LONG: Final = 0.55
LEAST_SHARED: Final = 0.6
LEAST_LIMITED: Final = 0.45  # "only" limits a claim that the other text also makes
LEAST_COVER: Final = 0.2
DOUBTFUL: Final = 0.25
LEAST_SAME: Final = 0.65
WEAK_WORD: Final = 0.5  # a word such as "must" or "still"
LEAST_SAME_LONG: Final = 0.6  # of several claims one may conflict while the others agree
FRAMED: Final = 0.75
LITTLE: Final = 0.97
OFTEN: Final = 0.5  # on the scale from never to always
REASON_CHARS: Final = 300
FRAME_PROBABILITY: Final = 0.99
OUT_TOPIC: Final = 0.5
PARTS: Final = 4  # claims of a text that are compared with each claim of the other
FRAMES_CACHED: Final = 256  # observations
OTHER_SIGNS: Final = ("opposed", "often", "amount", "only_one")


class Relation(StrEnum):
    """Relation of a new observation to an existing one."""

    SAME = "same"
    CONFLICTING = "conflicting"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


_LABELS: Final = {
    Relation.SAME: "reinforce",
    Relation.CONFLICTING: "contradict",
    Relation.UNRELATED: "new",
    Relation.UNSURE: "new",
}


@dataclass(frozen=True, slots=True)
class RelationVerdict:
    """The relation of two observations, the probability, and the reason as text.

    `p` is the share of labelled pairs with such a verdict for which the verdict was correct.
    """

    relation: Relation
    reason: str
    p: float = 1.0
    word_for_word: bool = False

    @property
    def label(self) -> str:
        """The effect of the observation on the existing one: `reinforce`, `contradict` or `new`."""
        return _LABELS[self.relation]

    @property
    def sure(self) -> bool:
        """Whether the verdict is certain enough to act on; otherwise the observation is new."""
        return self.relation is not Relation.UNSURE


def calibrate(verdict: RelationVerdict) -> RelationVerdict:
    """Return a verdict with the share of correct verdicts at its score as `p`."""
    steps = calibration()[verdict.relation.value]
    p = next((p for least, p in reversed(steps) if verdict.p >= least), steps[0][1])
    return replace(verdict, p=p)


@cache
def calibration() -> dict[str, list[tuple[float, float]]]:
    """Return for each relation minimum scores with their shares of correct verdicts."""
    text = files(__package__).joinpath("calibration.json").read_text(encoding="utf-8")
    found: dict[str, list[tuple[float, float]]] = json.loads(text)
    return found


def judge(new: Analysis, existing: Analysis, by: Weights | None = None) -> RelationVerdict:
    """Return how a new observation relates to an existing one of the same service and category.

    Deterministic. Rules compute features of the shared and the different words; a fixed linear
    model weighs them; an uncertain result is "unsure".
    """
    return calibrate(judge_raw(new, existing, by))


def judge_raw(new: Analysis, existing: Analysis, by: Weights | None = None) -> RelationVerdict:
    """Judge two observations; `p` is the score of the verdict, not yet calibrated."""
    whole = match(existing.clauses, new.clauses)
    verdict = _judge_whole(new, existing, whole, by)
    if verdict.relation is Relation.CONFLICTING or whole.size < LEAST_SHARED:
        return verdict
    return _judge_parts(new, existing, verdict, by) or verdict


def _judge_whole(
    new: Analysis, existing: Analysis, whole: Match, by: Weights | None
) -> RelationVerdict:
    """Judge two texts; another one of several values at a time is no sure contradiction."""
    verdict = _judge_claims(new, existing, whole, by)
    if verdict.relation is not Relation.CONFLICTING:
        return verdict
    rest = leave_out_several(existing.clauses, new.clauses)
    if rest is None:
        return verdict
    old, other = (
        replace(each, clauses=part, slots=tuple(s for s in each.slots if s.kind != "source"))
        for each, part in zip((existing, new), rest, strict=True)
    )
    again = _judge_claims(other, old, match(old.clauses, other.clauses), by)
    if again.relation is Relation.CONFLICTING:
        return verdict
    return RelationVerdict(Relation.UNSURE, f"may conflict: {verdict.reason}", verdict.p)


def _judge_claims(
    new: Analysis, existing: Analysis, whole: Match, by: Weights | None
) -> RelationVerdict:
    differing = differing_slots(existing.slots, new.slots)
    if differing is not None and not _are_same_words(whole):
        reason = " instead of ".join(_shorten(slot.label) for slot in reversed(differing))
        return RelationVerdict(Relation.CONFLICTING, reason, FRAMED)
    if whole.least < LEAST_COVER and whole.size < LEAST_SHARED:
        return RelationVerdict(Relation.UNRELATED, "the texts have little in common", LITTLE)
    unlike = whole.measures.unlike
    labels = [pair for pair in unlike if _are_labels(pair)] or _of_other_amounts(unlike)
    if labels:
        old, other = labels[0]
        return RelationVerdict(
            Relation.UNRELATED,
            f"different subject: {_format_measure(other)}, not {_format_measure(old)}",
        )
    others = other_of_its_kind(existing.clauses, new.clauses)
    if others:
        return RelationVerdict(Relation.UNRELATED, f"different subject: {others}", FRAMED)
    comparison = build_comparison(existing, new, whole)
    return (
        _compare_spans(comparison)
        or _agree_slots(existing, new, comparison)
        or _settle(
            comparison, _decide(comparison, *(by or load_weights()).chances(comparison.figures))
        )
    )


def _judge_parts(
    new: Analysis, existing: Analysis, whole: RelationVerdict, by: Weights | None
) -> RelationVerdict | None:
    """Return the conflict between parts of two texts of several claims; None for none.

    Texts that share a claim may conflict in the other claims; texts of two topics may conflict in
    one pair of claims.
    """
    parts: Iterable[tuple[Sequence[Clause], Sequence[Clause]]] = ()
    if len(existing.claims) == len(new.claims) == 1:
        return None
    if whole.relation is Relation.UNRELATED:
        parts = (((one,), (two,)) for one in existing.claims[:PARTS] for two in new.claims[:PARTS])
    else:
        old_rest, new_rest = remove_shared_claims(existing.clauses, new.clauses)
        if old_rest and new_rest and len(old_rest) < len(existing.clauses):
            parts = [(old_rest, new_rest)]
    for old_part, new_part in parts:
        verdict = _judge_whole(
            replace(new, clauses=tuple(new_part), slots=()),
            replace(existing, clauses=tuple(old_part), slots=()),
            match(old_part, new_part),
            by,
        )
        if verdict.relation is Relation.CONFLICTING:
            return verdict
    return None


def _settle(comparison: Comparison, verdict: RelationVerdict) -> RelationVerdict:
    """Separate claims about different attributes; decide an unsure verdict by the outcomes."""
    if excludes_others(comparison.whole):
        return RelationVerdict(Relation.CONFLICTING, "one text limits the claim", FRAMED)
    if verdict.relation is not Relation.UNRELATED and states_amount_once(comparison.whole):
        return RelationVerdict(Relation.UNRELATED, _difference_reason(comparison), FRAMED)
    if verdict.relation is Relation.CONFLICTING and (
        has_other_subject(comparison.whole) or _lacks_sign(comparison)
    ):
        return RelationVerdict(Relation.UNSURE, f"may conflict: {verdict.reason}", verdict.p)
    settled = verdict if verdict.sure else _agree_outcomes(comparison) or verdict
    if settled.relation is Relation.SAME and renames_subject(comparison.whole):
        reason = f"may conflict: {_conflict_reason(comparison)}"
        settled = RelationVerdict(Relation.UNSURE, reason, settled.p)
    if settled.relation in (Relation.SAME, Relation.UNSURE):
        settled = _compare_conditions(comparison, settled)
    if settled.relation is Relation.SAME and permits_what_is_required(comparison.whole):
        reason = "may conflict: required in one text, optional in the other"
        return RelationVerdict(Relation.UNSURE, reason, settled.p)
    return settled


def _lacks_sign(comparison: Comparison) -> bool:
    """Whether nothing in two single claims is opposite: their predicates are unrelated."""
    figures = comparison.figures
    if figures["clauses"] or figures["single"] or have_other_fillers(comparison.whole):
        return False
    limited = figures["only_one"] and figures["cover_least"] >= LEAST_LIMITED
    names = ("net", "opposed", "told", "unlike", "swapped", "one_each", "often", "amount")
    return comparison.ends >= 0 and not limited and not any(figures[name] for name in names)


def _compare_conditions(comparison: Comparison, verdict: RelationVerdict) -> RelationVerdict:
    """Separate two claims whose conditions or limits differ."""
    turned = compare_links(comparison.whole) or compare_limits(comparison.whole)
    figures = comparison.figures
    if turned == "negates" and figures["left"] + figures["right"] <= WEAK_WORD:
        return RelationVerdict(Relation.CONFLICTING, "opposite condition", FRAMED)
    if turned == "denies" and verdict.relation is Relation.SAME:
        return RelationVerdict(Relation.CONFLICTING, "one text negates the other", FRAMED)
    if turned and verdict.relation is Relation.SAME:
        return RelationVerdict(Relation.UNSURE, "may conflict: another condition", verdict.p)
    return verdict


def _agree_outcomes(comparison: Comparison) -> RelationVerdict | None:
    """Judge two claims on one topic with the same outcome, despite negations; None for others."""
    figures = comparison.figures
    one_topic = figures["topic_none"] and figures["topic"] >= OUT_TOPIC
    if not one_topic or not figures["out_agree"] or figures["clauses"] or figures["swapped"]:
        return None
    whole = comparison.whole
    if (
        _denies(comparison, *OTHER_SIGNS)
        or have_other_fillers(whole)
        or find_replacements(whole, POLAR)
    ):
        return None
    if added := find_added_condition(whole):
        return _of_another_condition(added)
    return RelationVerdict(Relation.SAME, _same_reason(comparison), FRAMED)


def _compare_spans(comparison: Comparison) -> RelationVerdict | None:
    """Judge two texts that state a duration of the same thing; None for others."""
    if not says_how_long(comparison.whole):
        return None
    if comparison.whole.measures.unlike:
        return RelationVerdict(Relation.CONFLICTING, _conflict_reason(comparison), FRAMED)
    return RelationVerdict(Relation.SAME, _same_reason(comparison), FRAMED)


def _agree_slots(
    existing: Analysis, new: Analysis, comparison: Comparison
) -> RelationVerdict | None:
    """Judge two texts that give one attribute of a subject the same value; None for others."""
    same = agreeing_slot(existing.slots, new.slots)
    alone = len(existing.clauses) == len(new.clauses) == 1
    if same is None or not alone or comparison.figures["unlike"]:
        return None
    if added := find_added_condition(comparison.whole):
        return _of_another_condition(added)
    return RelationVerdict(Relation.SAME, "same fact in other words", FRAMED)


def _of_another_condition(words: Sequence[str]) -> RelationVerdict:
    reason = f"different condition: {_shorten(' '.join(words[:4]))}"
    return RelationVerdict(Relation.UNRELATED, reason, FRAMED)


def _shorten(words: str) -> str:
    return shorten(words, REASON_CHARS)


def _decide(
    comparison: Comparison, same: float, conflicting: float, apart: float
) -> RelationVerdict:
    if apart >= APART:
        if conflicting > DOUBTFUL and not comparison.figures["condition_any"]:
            return RelationVerdict(
                Relation.UNSURE, f"may conflict: {_conflict_reason(comparison)}", conflicting
            )
        return RelationVerdict(Relation.UNRELATED, _difference_reason(comparison), apart)
    of_one_frame = _judge_replacement(comparison)
    if of_one_frame is not None:
        return of_one_frame
    return _weigh(comparison, same, conflicting)


def _weigh(comparison: Comparison, same: float, conflicting: float) -> RelationVerdict:
    figures = comparison.figures
    narrower = figures["unlike"] and bool(figures["heavy_left"]) != bool(figures["heavy_right"])
    if conflicting >= (LIKELY_LONG if figures["clauses"] or narrower else LIKELY):
        return RelationVerdict(Relation.CONFLICTING, _conflict_reason(comparison), conflicting)
    if _is_doubtful(comparison, same):
        return RelationVerdict(
            Relation.UNSURE, f"may conflict: {_conflict_reason(comparison)}", conflicting
        )
    if added := find_added_condition(comparison.whole):
        return _of_another_condition(added)
    return RelationVerdict(Relation.SAME, _same_reason(comparison), same)


def _is_doubtful(comparison: Comparison, same: float) -> bool:
    """Whether two texts that seem the same may conflict."""
    least = LEAST_SAME_LONG if comparison.figures["clauses"] else LEAST_SAME
    replaced = find_replacements(comparison.whole, POLAR)
    figures = comparison.figures
    added = find_added_condition(comparison.whole)
    apart = figures["out_apart_topic"] >= OUT_TOPIC and not (figures["clauses"] or added)
    apart = apart or (comparison.ends < 0 and not figures["clauses"])
    apart = apart or has_other_limits(comparison.whole)
    unlike = apart or figures["relapse"] or figures["amount"] or figures["often"] >= OFTEN
    return same < least or bool(unlike or replaced) or have_other_fillers(comparison.whole)


def _judge_replacement(comparison: Comparison) -> RelationVerdict | None:
    """Judge two texts of one sentence in which a word was replaced; None if none was.

    They are never the same. With another subject or condition both may be true; a different value
    conflicts; for any other word the verdict is unsure.
    """
    gaps = find_replacements(comparison.whole)
    if not gaps or _denies(comparison):
        return None
    left, right = ([word for gap in gaps for word in gap[side]] for side in (0, 1))
    words = [*left, *right]
    clauses = [*comparison.whole.old, *comparison.whole.new]
    if any(word.condition or is_subject(word, clauses) for word in words):
        return RelationVerdict(Relation.UNRELATED, _difference_reason(comparison), FRAMED)
    if all(is_value(word, clauses) for word in words):
        return RelationVerdict(Relation.CONFLICTING, _conflict_reason(comparison), FRAMED)
    return RelationVerdict(Relation.UNSURE, f"may conflict: {_conflict_reason(comparison)}", FRAMED)


def _denies(comparison: Comparison, *names: str) -> bool:
    """Whether two texts differ in more than the replaced words."""
    return any(
        comparison.figures[name] for name in names or ("net", "unlike", "swapped", *OTHER_SIGNS)
    )


def _are_same_words(whole: Match) -> bool:
    """Whether no significant word or measure is in one text only, nor one of opposite meaning."""
    apart = whole.measures.unlike or whole.measures.left or whole.measures.right
    opposed = any(pair.opposed for pair in whole.pairs)
    return not (apart or opposed or heavy_words([*whole.left, *whole.right]))


def _are_labels(pair: tuple[Measure, Measure]) -> bool:
    """Whether two measures are the names of two things of one kind: worker 1 and worker 2."""
    return "label" in (pair[0].kind, pair[1].kind)


def _of_other_amounts(unlike: Sequence[tuple[Measure, Measure]]) -> list[tuple[Measure, Measure]]:
    """Return the differing amounts at the start of two claims with more: 1 TB takes an hour."""
    kinds = [one.kind for one, _ in unlike]
    if len(unlike) < 2 or (kinds[0] == "number" and "duration" in kinds):
        return []  # "3 times within 10 minutes"
    return [(one, two) for one, two in unlike if one.place == two.place == 1]


def _same_reason(comparison: Comparison) -> str:
    measures = [(a, b) for a, b in comparison.whole.measures.same if a.text != b.text]
    if measures:
        old, new = measures[0]
        return f"same fact: {new.text} for {old.text}"
    return "same fact in other words"


def _difference_reason(comparison: Comparison) -> str:
    """Return why two texts are two facts: another subject or condition, or little shared."""
    left, right = heavy_words(comparison.whole.left), heavy_words(comparison.whole.right)
    conditions = [word for word in right if word.condition]
    if conditions:
        return f"different condition: {_quote_words(conditions)}"
    if left and right:
        return f"different subject: {_quote_words(right)}, not {_quote_words(left)}"
    return "a different fact about the same subject"


def _conflict_reason(comparison: Comparison) -> str:
    """Name the strongest contradiction."""
    unlike = comparison.whole.measures.unlike or comparison.best.measures.unlike
    if unlike:
        old, new = unlike[0]
        return f"{_format_measure(new)} instead of {_format_measure(old)}"
    opposed = [pair for pair in comparison.whole.pairs if pair.opposed]
    if opposed:
        pair = opposed[0]
        return f"{pair.new.label} instead of {pair.old.label}"
    if comparison.figures["swapped"]:
        return "opposite order"
    if comparison.figures["net"]:
        return "one text negates the other"
    left, right = heavy_words(comparison.whole.left), heavy_words(comparison.whole.right)
    if left and right:
        return f"{_quote_words(right)} instead of {_quote_words(left)}"
    return "both cannot be true"


def _quote_words(words: Sequence[ClauseWord]) -> str:
    return shorten(" ".join(word.label for word in words[:4]), REASON_CHARS)


def _format_measure(measure: Measure) -> str:
    bound = {"min": "at least ", "max": "at most ", "below": "below "}.get(measure.bound, "")
    return f"{bound}{shorten(measure.text.removeprefix('id_'), 80)}"


def judge_frame(new: str, existing: str) -> RelationVerdict | None:
    """Judge two observations of one frame; None if they do not share a frame."""
    for frame, said in _frames_of(new):
        known = frame.fillers(existing)
        if known is not None:
            return _judge_fillers(frame, said, known)
    return None


@lru_cache(FRAMES_CACHED)
def _frames_of(observation: str) -> list[tuple[Frame, Mapping[str, str]]]:
    """Return the frames of an observation, which is compared with many others, with its fillers."""
    found = ((frame, frame.fillers(observation)) for frame in FRAMES)
    return [(frame, fillers) for frame, fillers in found if fillers is not None]


def _judge_fillers(
    frame: Frame, new_fillers: Mapping[str, str], fillers: Mapping[str, str]
) -> RelationVerdict:
    differs = [slot for slot in frame.slots if not fillers_equal(new_fillers[slot], fillers[slot])]
    subjects = [slot for slot in differs if slot != frame.value]
    if subjects:
        slot = subjects[0]
        return RelationVerdict(
            Relation.UNRELATED,
            f"different subject: {new_fillers[slot]}, not {fillers[slot]}",
            FRAME_PROBABILITY,
        )
    if differs:
        return RelationVerdict(
            Relation.CONFLICTING,
            f"{new_fillers[frame.value]} instead of {fillers[frame.value]}",
            FRAME_PROBABILITY,
        )
    slot = frame.value or frame.slots[0]
    return RelationVerdict(
        Relation.SAME, f"same fact: {new_fillers[slot]} for {fillers[slot]}", FRAME_PROBABILITY
    )


def fillers_equal(one: str, two: str) -> bool:
    """Whether two fillers are the same: amounts within 15 %, all others verbatim."""
    if one == two:
        return True
    first, second = split_items(one), split_items(two)
    if len(first) != 1 or len(second) != 1:
        return False
    a, b = (Measure(each.kind, each.text, each.low, each.high) for each in (first[0], second[0]))
    return a.kind == b.kind and a.kind in QUANTITIES - {"number"} and measures_agree(a, b)
