"""How two observations of one service and category stand to each other."""

from lamplighter.domain.relate.analysis import Analysis
from lamplighter.domain.relate.clauses import analyse
from lamplighter.domain.relate.framed import framed
from lamplighter.domain.relate.judge import Relation, Verdict, judge
from lamplighter.domain.relate.lexicon import Lexicon, built_in, extended
from lamplighter.domain.text import same_words

__all__ = [
    "Analysis",
    "Lexicon",
    "Relation",
    "Verdict",
    "analyse",
    "built_in",
    "by_text",
    "extended",
    "judge",
    "relate",
]
SAME_WORDS = Verdict(Relation.SAME, "said again in the same words", word_for_word=True)


def by_text(new: str, held: str) -> Verdict | None:
    """Judge what the texts alone decide: the same words, or two sentences of one frame."""
    if same_words(new) == same_words(held):
        return SAME_WORDS
    return framed(new, held)


def relate(
    new: str, held: str, *, service: str | None = None, lexicon: Lexicon | None = None
) -> Verdict:
    """Say how a new observation stands to a held one of the same service and category."""
    found = by_text(new, held)
    if found is not None:
        return found
    words = lexicon or built_in()
    return judge(analyse(new, words, service=service), analyse(held, words, service=service))
