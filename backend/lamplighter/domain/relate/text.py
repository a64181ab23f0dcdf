"""Tokens of a sentence: words, numbers with their units, names, and breaks."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.tables import read_table

READ_CHARS: Final = 2_000
_FOLD: Final = str.maketrans(
    dict.fromkeys("‘’\u02bc`\u00b4", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
)
_WORDED: Final = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
    "fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50",
    "sixty": "60", "ninety": "90", "hundred": "100", "dozen": "12", "twice": "2 times",
    "thrice": "3 times", "couple": "2",
}  # fmt: skip
# "worker A" is not "worker B", and its A is not an article
_LETTER: Final = re.compile(r"(?<=[a-z] )([A-HJ-Z])(?=[\s,.;:)]|$)(?! [A-Z]\b)")
_NUMBER_WORD: Final = re.compile(rf"\b({'|'.join(_WORDED)})\b")
ORDINALS: Final = {
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "last": "id_last",
    "final": "id_last",
}  # fmt: skip
_RULES: Final = read_table(
    __package__,
    "spelling.txt",
    nth=rf"(?P<nth>{'|'.join(ORDINALS)}|\d{{1,3}}(?=st|nd|rd|th))(?:st|nd|rd|th)?",
)
_SHARES: Final = {"third": 33, "quarter": 25, "fifth": 20, "tenth": 10}
_COMPUTED: Final[Mapping[str, Callable[[re.Match[str]], str]]] = {
    "{step}": lambda found: f"{found['part']} {ORDINALS.get(found['nth'], found['nth'])}",
    "{share}": lambda found: f"{_SHARES[found[1]]} % of",
    "{shares}": lambda found: f"{int(found[1]) * _SHARES[found[2]]} % of",
    "{part_of}": lambda found: f"{_SHARES[found[1]] / 100} {found[2]}",
    "{ratio}": lambda found: f"{100 * int(found[1]) // (int(found[2]) or 1)} % of",
}

_GROUP_NAME: Final = re.compile(r"\?P<\w+>")
_WORD_START: Final = r"\b"


class _Rewrites:
    """The patterns of a kind, and what each is rewritten to, in their order."""

    def __init__(self, kind: str) -> None:
        rules = [rule.rpartition(" -> ") for name, rule in _RULES if name == kind]
        self._rules = [
            (re.compile(pattern), _COMPUTED.get(words) or words[1:-1])
            for pattern, _, words in rules
        ]
        # most texts match no pattern: one search for any of them replaces a search for each
        patterns = [_GROUP_NAME.sub("", pattern) for pattern, _, _ in rules]
        at_words = "|".join(each[2:] for each in patterns if each.startswith(_WORD_START))
        others = [each for each in patterns if not each.startswith(_WORD_START)]
        self._any = re.compile("|".join([rf"{_WORD_START}(?:{at_words})", *others]))

    def apply(self, text: str) -> str:
        """Return a text with all matches rewritten."""
        if self._any.search(text):
            for pattern, words in self._rules:
                text = pattern.sub(words, text)
        return text


_CONTRACTIONS: Final = _Rewrites("contraction")
_SPELLED: Final = _Rewrites("spelled")
_BOUNDS: Final = _Rewrites("bound")
_TURNED: Final = frozenset(frozenset(pair.split()) for kind, pair in _RULES if kind == "turned")

_WEEK: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SECONDS: Final = {
    "ms": 0.001, "msec": 0.001, "millisecond": 0.001, "s": 1.0, "sec": 1.0, "second": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
    "d": 86400.0, "day": 86400.0, "night": 86400.0, "morning": 86400.0, "evening": 86400.0,
    "w": 604800.0, "wk": 604800.0, "week": 604800.0, "month": 2592000.0,
    "quarter": 7776000.0, "y": 31536000.0, "yr": 31536000.0, "year": 31536000.0,
}  # fmt: skip
BYTES: Final = {
    "b": 1.0, "byte": 1.0, "k": 1024.0, "kb": 1024.0, "kib": 1024.0, "mb": 1024.0**2,
    "mib": 1024.0**2, "meg": 1024.0**2, "g": 1024.0**3, "gb": 1024.0**3, "gib": 1024.0**3,
    "gig": 1024.0**3, "tb": 1024.0**4, "tib": 1024.0**4, "t": 1024.0**4,
}  # fmt: skip
RATES: Final = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9}
_UNITS: Final = "|".join(
    sorted(
        {*SECONDS, *BYTES, *RATES, "percent", "pct", "c"} - {"y", "k", "t"}, key=len, reverse=True
    )
)
_NAMES: Final = ("word", "stop", "name", "path", "address", "version", "ordinal")
_AMOUNT: Final = r"\d+(?:,\d{3})*(?:\.\d+)?"
_ITEM: Final = re.compile(
    rf"""
      (?P<weekday> \b(?: (?:mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:days?)?
                      | weekdays? | weekends? | workdays? | working\sdays? )\b )
    | (?P<path> (?<![\w./]) (?: [a-z][a-z0-9+]*:// | ~?/ ) [\w.~/@:%+*-]* [\w*] /?
                 | (?<!\S)/(?=[\s,.;:)]|$) )
    | (?P<address> \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:/\d+)?(?::\d+)? )
    | (?P<clock> \b\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[ap]m\b)? | \b\d{{1,2}}\s?[ap]m\b )
    | (?P<every> \bevery\s(?P<every_n>{_AMOUNT})?\s?-?(?P<every_unit>{_UNITS})s?\b )
    | (?P<split> \bsplit\s(?P<split_n>\d+)\s(?P<split_unit>{_UNITS})s?\b )
    | (?P<range> (?<![\w.])(?P<low>{_AMOUNT})\s?(?:-|to|or|and)\s?(?P<high>{_AMOUNT})
                 [\s-]?(?P<range_unit>{_UNITS})s?\b )
    | (?P<percent> (?<![\w.]){_AMOUNT}\s?% )
    | (?P<quantity> (?<![\w.])(?P<n>{_AMOUNT})[\s-]?(?P<unit>{_UNITS})s?\b(?!/) )
    | (?P<version> \bv?\d+(?:\.\d+)+[a-z0-9]*\b | \bv\d+\b )
    | (?P<number> (?<![\w.]){_AMOUNT}\b(?!\.\d) )
    | (?P<ordinal> \b\d+(?:st|nd|rd|th)\b )
    | (?P<name> [^\W_]*(?:[_.]\w|\d\w*|-\d)[\w.]*(?:-\w+)* | [a-z]+\.[a-z]+(?:\.\w+)* )
    | (?P<word> [^\W\d_]+ )
    | (?P<stop> \s-+\s | [;()\[\]] | [.!?](?=\s|$) | , | : )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class TextItem:
    """One item of a sentence: its kind, its text, and its measure if any."""

    kind: str
    text: str
    low: float = 0.0
    high: float = 0.0
    raw: str = ""  # the original words of a replaced phrase


_WORD: Final = re.compile(r"\w+(?:[-.:/]\w+)*|,")
_ARTICLES: Final = frozenset(["a", "an", "the"])
_LISTED: Final = frozenset([",", "and", "or"])


def turns_words(one: str, other: str) -> bool:
    """Whether two texts differ in only one small word, or in two swapped words.

    "A is faster than B" is not "B is faster than A"; in a list the order has no meaning.
    """
    a, b = _split_words(one), _split_words(other)
    if len(a) != len(b):
        return False
    apart = [at for at, (left, right) in enumerate(zip(a, b, strict=True)) if left != right]
    if len(apart) == 1:
        return frozenset((a[apart[0]], b[apart[0]])) in _TURNED
    if len(apart) != 2:
        return False
    first, second = apart
    between = a[first + 1 : second]
    listed = not between or {between[0], between[-1]} <= _LISTED
    return a[first] == b[second] and a[second] == b[first] and not listed


def _split_words(text: str) -> list[str]:
    return [each for each in _WORD.findall(text.casefold()) if each not in _ARTICLES]


def split_items(text: str) -> list[TextItem]:
    """Return the items of the beginning of a text; never fails."""
    normalized = _LETTER.sub(r"id_\1", _fold(text)).lower()
    normalized = _CONTRACTIONS.apply(normalized)
    normalized = _NUMBER_WORD.sub(lambda found: _WORDED[found[0]], normalized)
    normalized = _BOUNDS.apply(_SPELLED.apply(normalized))
    return [_build_item(found) for found in _ITEM.finditer(normalized)]


def fold_text(text: str) -> str:
    """Return the beginning of a text in lower case, with one kind of quotes and dashes."""
    return _fold(text).lower()


def _fold(text: str) -> str:
    # cut again: normalization can expand one character to eighteen
    return unicodedata.normalize("NFKC", text[:READ_CHARS])[:READ_CHARS].translate(_FOLD)


def to_digits(word: str) -> str:
    """Return a number word in digits, and any other word as it is."""
    return _WORDED.get(word, word)


def _build_item(match: re.Match[str]) -> TextItem:
    text, kind = match[0].strip(), match.lastgroup
    if kind in _NAMES:
        return TextItem(kind, _normalize_name(kind, text))
    if kind == "weekday":
        low, high = _day_range(text)
        return TextItem("weekday", text, low, high)
    if kind == "clock":
        at = _clock(text)
        return TextItem("clock", text, at, at)
    return _build_measure(match, text)


def _normalize_name(kind: str, text: str) -> str:
    """Return a normalized name: a path without its last slash, a version without its v."""
    if kind == "path":
        return text.rstrip("/") or "/"
    return text.lstrip("v") if kind == "version" else text


def _build_measure(match: re.Match[str], text: str) -> TextItem:
    if match["every"] is not None:
        at = _amount(match["every_n"] or "1") * SECONDS.get(match["every_unit"], 1.0)
        return TextItem("period", text, at, at)
    if match["split"] is not None:
        at = SECONDS.get(match["split_unit"], 1.0) / max(1.0, _amount(match["split_n"]))
        return TextItem("period", text, at, at)
    if match["percent"] is not None:
        at = _amount(text.rstrip("% "))
        return TextItem("percent", text, at, at)
    if match["range"] is not None:
        kind, factor = _unit(match["range_unit"])
        return TextItem(kind, text, _amount(match["low"]) * factor, _amount(match["high"]) * factor)
    if match["quantity"] is not None:
        kind, factor = _unit(match["unit"])
        at = _amount(match["n"]) * factor
        return TextItem(kind, text, at, at)
    at = _amount(text)
    return TextItem("number", text, at, at)


def _day_range(text: str) -> tuple[float, float]:
    """Return the first and the last day of a range, from 1 for Monday to 7 for Sunday."""
    if text.startswith("weekend"):
        return 6.0, 7.0
    if text.startswith(("weekday", "work")):
        return 1.0, 5.0
    day = 1.0 + _WEEK.index(text[:3])
    return day, day


def _unit(unit: str) -> tuple[str, float]:
    if unit in SECONDS:
        return "duration", SECONDS[unit]
    if unit in BYTES:
        return "bytes", BYTES[unit]
    if unit in RATES:
        return "rate", RATES[unit]
    return ("celsius" if unit == "c" else "percent"), 1.0


def _amount(text: str) -> float:
    return min(float(text.replace(",", "")), 1e300)  # hundreds of digits would become infinity


def _clock(text: str) -> float:
    digits = re.findall(r"\d+", text)
    hour, minute = int(digits[0]) % 24, int(digits[1]) if len(digits) > 1 else 0
    if text.endswith("pm") and hour < 12:
        hour += 12
    if text.endswith("am") and hour == 12:
        hour = 0
    return float(hour * 60 + minute)
