"""Questions about decisions: their names, and the match of a decision."""

import re
from collections.abc import Iterator
from typing import Final

from lamplighter.domain.stemming import stem

MAX_WORDS: Final = 60
LONGEST_NAME: Final = 3
_WORD: Final = re.compile(r"[^\s,;:!?()\"]+")
_ASKING_WORDS: Final = (
    "why was were is are did do does we our the a an this that these those it to of for in on "
    "with and or not decided decide decision decisions chose choose chosen made make use used "
    "using what when who how reason rationale instead than rather have has had be been by from "
    "at as "
)
_ASKING: Final = frozenset(_ASKING_WORDS.split())


def question_names(question: str) -> list[str]:
    """Return possible names in a question: each run of up to three words, the longest first."""
    runs = _runs(_bare_tokens(question)[:MAX_WORDS])
    return [" ".join(run) for run in runs if not {each.lower() for each in run} <= _ASKING]


def text_names(text: str) -> list[str]:
    """Return possible names of entities in a text: its runs of up to three words."""
    runs = {" ".join(run) for run in _runs(_bare_tokens(text))}
    return sorted(run for run in runs if run.lower() not in _ASKING)


def decision_score(question: str, decision: str) -> float:
    """Return the share of a question's content words that a decision contains, from 0 to 1."""
    asked = _content(question)
    return len(asked & _content(decision)) / len(asked) if asked else 0.0


def _content(text: str) -> set[str]:
    words = map(str.lower, _bare_tokens(text))
    return {stem(word) for word in words if word and word not in _ASKING}


def _bare_tokens(text: str) -> list[str]:
    return [word.strip(".'`") for word in _WORD.findall(text)]


def _runs(words: list[str]) -> Iterator[list[str]]:
    for size in range(LONGEST_NAME, 0, -1):
        yield from (words[at : at + size] for at in range(len(words) - size + 1))
