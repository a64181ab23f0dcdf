"""Stems of English words, computed as in SQLite's FTS5 by the algorithm of Martin Porter."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

STEM_CACHE_SIZE: Final = 50_000
_VOWELS: Final = frozenset("aeiou")

SuffixRules = Sequence[tuple[str, str]]

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


@lru_cache(STEM_CACHE_SIZE)
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    word = _without_past_tense(_without_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(_replace_ending(word, _DOUBLE), _LONG)
    return _without_e(_without_last(word))


def stems(words: str) -> frozenset[str]:
    """Return the stems of some words."""
    return frozenset(map(stem, words.split()))


def _without_plural(word: str) -> str:
    if any(word.endswith(each) and word != each for each in ("ies", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past_tense(word: str) -> str:
    if word.endswith("eed") and word != "eed":
        return word[:-1] if _measure(word[:-3]) else word
    ending = next((each for each in ("ed", "ing") if word.endswith(each)), None)
    if ending is None or not _has_vowel(word[: -len(ending)]):
        return word
    word = word[: -len(ending)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_doubled(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _replace_ending(word: str, rules: SuffixRules) -> str:
    """Replace the first ending that matches, if the text before it is long enough."""
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
        if size > 1 or (size == 1 and not _is_short(before)):
            word = before
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _consonants(word: str) -> list[bool]:
    """Return whether each letter is a consonant; `y` is at the start and after a vowel."""
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


def _ends_doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and word[-1] not in _VOWELS


def _is_short(word: str) -> bool:
    """Whether a word ends in consonant, vowel, consonant, the last one not w, x or y."""
    return _consonants(word)[-3:] == [True, False, True] and word[-1] not in "wxy"
