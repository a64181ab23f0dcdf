"""Stems of English words: those that the `porter` tokenizer of SQLite's FTS5 makes.

FTS5 departs from Porter's paper in a few places (words under three letters stay, `-bly`
loses its y as `-ble` does, `-logy` becomes `-log`); so do we, and a test compares thousands
of words.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

SHORTEST, LONGEST = 3, 64
REMEMBERED: Final = 50_000
_VOWELS: Final = frozenset("aeiou")

Rules = Sequence[tuple[str, str]]

_DOUBLE: Final = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance")),
    *(("izer", "ize"), ("logi", "log"), ("bli", "ble"), ("alli", "al"), ("entli", "ent")),
    *(("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate")),
    *(("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    *(("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")),
)
_LONG: Final = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic")),
    *(("ical", "ic"), ("ful", ""), ("ness", "")),
)
_LAST: Final = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate"),
    *("iti", "ous", "ive", "ize", "al", "er", "ic", "ou"),
)


@lru_cache(REMEMBERED)
def stem(word: str) -> str:
    """Return the stem of a word in small letters; what is no English word stays as it is."""
    if not (SHORTEST <= len(word) <= LONGEST and word.isascii() and word.isalpha()):
        return word
    word = _without_past(_without_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _DOUBLE), _LONG)
    return _without_e(_without_last(word))


def _without_plural(word: str) -> str:
    if any(word.endswith(each) and word != each for each in ("ies", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed") and word != "eed":
        return word[:-1] if _measure(word[:-3]) else word
    ending = next((each for each in ("ed", "ing") if word.endswith(each)), None)
    if ending is None or not _has_vowel(word[: -len(ending)]):
        return word
    word = word[: -len(ending)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _doubled(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _short(word) else word


def _replaced(word: str, rules: Rules) -> str:
    """Replace the first ending that fits, where what stands before it is long enough."""
    for ending, other in rules:
        if word.endswith(ending):
            before = word[: -len(ending)]
            return before + other if _measure(before) else word
    return word


def _without_last(word: str) -> str:
    for ending in _LAST:
        if word.endswith(ending):
            before = word[: -len(ending)]
            whole = ending == "ion" and not before.endswith(("s", "t"))
            return word if whole or _measure(before) < 2 else before
    return word


def _without_e(word: str) -> str:
    if word.endswith("e"):
        before = word[:-1]
        size = _measure(before)
        if size > 1 or (size == 1 and not _short(before)):
            word = before
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _consonants(word: str) -> list[bool]:
    """Say of each letter whether it is a consonant; `y` is one at the start and after a vowel."""
    found: list[bool] = []
    for letter in word:
        is_one = letter not in _VOWELS and (letter != "y" or not found or not found[-1])
        found.append(is_one)
    return found


def _measure(word: str) -> int:
    """Count how often a consonant follows a vowel."""
    found = _consonants(word)
    return sum(1 for before, after in pairwise(found) if after and not before)


def _has_vowel(word: str) -> bool:
    return not all(_consonants(word))


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and word[-1] not in _VOWELS


def _short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, and the last is none of w, x and y."""
    return _consonants(word)[-3:] == [True, False, True] and word[-1] not in "wxy"
