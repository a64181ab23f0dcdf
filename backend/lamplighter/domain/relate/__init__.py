"""The relation of two observations of one service and category."""

from lamplighter.domain.relate.analysis import Analysis
from lamplighter.domain.relate.clauses import analyze
from lamplighter.domain.relate.judge import Relation, RelationVerdict, judge, judge_frame
from lamplighter.domain.relate.lexicon import Lexicon, builtin_lexicon, extend_builtin
from lamplighter.domain.relate.text import turns_words
from lamplighter.domain.text import comparison_key

__all__ = [
    "Analysis",
    "Lexicon",
    "Relation",
    "RelationVerdict",
    "analyze",
    "builtin_lexicon",
    "extend_builtin",
    "judge",
    "judge_text",
    "judge_words",
    "relate",
]
SAME_WORDS = RelationVerdict(Relation.SAME, "repeats the text verbatim", word_for_word=True)


def judge_text(new: str, existing: str) -> RelationVerdict | None:
    """Decide from the texts alone: identical words, or two sentences of one frame; else None."""
    if comparison_key(new) == comparison_key(existing):
        return SAME_WORDS
    return judge_frame(new, existing)


def relate(
    new: str, existing: str, *, service: str | None = None, lexicon: Lexicon | None = None
) -> RelationVerdict:
    """Return how a new observation relates to an existing one of the same service and category."""
    found = judge_text(new, existing)
    if found is not None:
        return found
    words = lexicon or builtin_lexicon()
    verdict = judge(analyze(new, words, service=service), analyze(existing, words, service=service))
    return judge_words(verdict, new, existing)


def judge_words(verdict: RelationVerdict, new: str, existing: str) -> RelationVerdict:
    """Make "same" unsure for texts that differ in one opposite word or in word order."""
    if verdict.relation is not Relation.SAME or not turns_words(new, existing):
        return verdict
    return RelationVerdict(Relation.UNSURE, "may conflict: one word, or the order", verdict.p)
