"""Instructions that a person gives an agent: corrections, preferences and decisions.

Keyword rules, no model. They run on everyday prompts: questions, quotes and pasted text are
ignored, and a doubtful sentence does not match. The captured memories are raw.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from lamplighter.domain.memory.memory import Category
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import one_line


class CorrectionTone(StrEnum):
    """Ways in which a person states an instruction."""

    CORRECTION = "correction"
    PREFERENCE = "preference"
    DECISION = "decision"
    REMEMBER = "remember"


CATEGORIES: Final = {
    CorrectionTone.CORRECTION: Category.LEARNING,
    CorrectionTone.PREFERENCE: Category.PREFERENCE,
    CorrectionTone.DECISION: Category.DECISION,
    CorrectionTone.REMEMBER: Category.LEARNING,
}
MAX_CORRECTIONS: Final = 5
SCANNED_CHARS: Final = 8_000
SENTENCE_CHARS: Final = 400
LEAST_WORDS: Final = 3

_PATTERNS: Final = read_table(__package__, "corrections.txt")
_FORMS: Final = {kind: re.compile(form) for kind, form in _PATTERNS if kind not in CATEGORIES}
_RULES: Final = tuple(
    (tone, re.compile("|".join(pattern for kind, pattern in _PATTERNS if kind == tone), re.I))
    for tone in reversed(CorrectionTone)
)


@dataclass(frozen=True, slots=True)
class Correction:
    """A sentence that states a correction, a preference or a decision of a person."""

    tone: CorrectionTone
    text: str

    @property
    def category(self) -> Category:
        """The category of the memory."""
        return CATEGORIES[self.tone]


def find_corrections(prompt: str) -> list[Correction]:
    """Return the instructions in a prompt, at most five sentences."""
    if prompt.lstrip().startswith(("/", "#!", "<")):
        return []
    found: dict[str, Correction] = {}
    for sentence in _sentences(prompt[:SCANNED_CHARS]):
        tone = _classify(sentence)
        if tone is not None:
            found.setdefault(sentence.casefold(), Correction(tone, sentence))
    return list(islice(found.values(), MAX_CORRECTIONS))


def _sentences(prompt: str) -> Iterator[str]:
    """Yield the sentences that a person wrote; a separate "No." is joined to the next sentence."""
    prompt = _FORMS["fence"].sub("\n", prompt)
    lines = (
        _FORMS["list_mark"].sub("", line)
        for line in prompt.splitlines()
        if not _FORMS["pasted"].match(line)
    )
    before = ""
    for part in _FORMS["ends"].split("\n".join(lines)):
        sentence = one_line(before + part)
        before = ""
        if re.fullmatch(r"no+(?:pe)?[.!,]*", sentence, re.IGNORECASE):
            before = f"{sentence.rstrip('.!,')}, "
        elif sentence and len(sentence) <= SENTENCE_CHARS:
            yield sentence


def _classify(sentence: str) -> CorrectionTone | None:
    statement = _FORMS["lead"].sub("", sentence)
    if (
        sentence.endswith("?")
        or _FORMS["question_start"].match(statement)
        or len(sentence.split()) < LEAST_WORDS
    ):
        return None
    return next((tone for tone, rule in _RULES if rule.match(statement)), None)


LEAST_CHARS: Final = 20
ITEM_LEAST_WORDS: Final = 4
TITLE_CHARS: Final = 60


def extract_learnings(text: str) -> list[str]:
    """Return the items of the last non-empty section of learnings: numbered ones, else bullets.

    Items with fewer than 20 characters or four words are too short to be stored.
    """
    text = text.replace("\r\n", "\n")
    for heading in reversed(list(_FORMS["learnings"].finditer(text))):
        rest = text[heading.end() :]
        ends = _FORMS["next_heading"].search(rest)
        section = rest[: ends.start()] if ends else rest
        for form in ("numbered", "bullet"):
            items = map(_strip_markup, _FORMS[form].findall(section))
            if found := list(filter(_is_substantial, items)):
                return found
    return []


def learning_title(learning: str) -> str:
    """Return the title of a learning: its beginning, cut between two words."""
    if len(learning) <= TITLE_CHARS:
        return learning
    cut, _, _ = learning[:TITLE_CHARS].rpartition(" ")
    return f"{cut or learning[: TITLE_CHARS - 1]}…"


def _strip_markup(item: str) -> str:
    for marks in ("bold", "code", "italic"):
        item = _FORMS[marks].sub(r"\1", item)
    return " ".join(item.split())


def _is_substantial(item: str) -> bool:
    spaced = not any(unicodedata.category(char) == "Lo" for char in item)
    return len(item) >= LEAST_CHARS and (not spaced or len(item.split()) >= ITEM_LEAST_WORDS)
