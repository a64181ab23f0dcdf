"""Tokens of a sentence: words, numbers with their units, names, and breaks."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

READ_CHARS: Final = 2_000
_FOLD: Final = str.maketrans(
    dict.fromkeys("‘’\u02bc`\u00b4", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
)
_WITHIN: Final = r"(?:\s\w+){0,3}?"
_AGE: Final = r"(?:an?|\d+|[a-z]+) \w+"
_GONE: Final = (
    r"(?:is|are|gets?|was|were) (?:dropped|deleted|removed|gone|purged|pruned|discarded"
    r"|thrown away|lost|expired|wiped|erased)\b"
)
_CONTRACTIONS: Final = (
    (re.compile(r"\bcan't\b"), "cannot"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(it|that|there|what|here|he|she)'s\b"), r"\1 is"),
    (re.compile(r"'(?:re|ve|ll|d|s)\b"), ""),
    (re.compile(r"\bw/o\b"), "without"),
    (re.compile(r"\bw/ "), "with "),
    (re.compile(r"\bcannot\b"), "can not"),
    (re.compile(rf"\b(?:(?:anything|everything|all|data) )?older than ({_AGE}) {_GONE}"),
     r"kept for \1 "),
    (re.compile(rf"\b(?:never|not?|nothing)\b({_WITHIN}) (?:more|longer|higher|later) than"
                r" (?=\d|an? )"), r"\1 maximum "),
    (re.compile(rf"\b(?:never|not?|nothing)\b({_WITHIN}) (?:less|fewer|shorter|lower) than"
                r" (?=\d|an? )"), r"\1 minimum "),
    (re.compile(rf"\b(?:never|not?|nothing)\b({_WITHIN}) (?:above|over|beyond|past|exceeds?)"
                r" (?=\d|an? )"), r"\1 maximum "),
    (re.compile(r"\bno more (?=[a-z]{3})(?!than\b)"), "no "),
    (re.compile(r"\bany ?more\b"), ""),
    (re.compile(r">="), " minimum "),
    (re.compile(r"<="), " maximum "),
    (re.compile(r"=>|->"), " - "),
    (re.compile(r"<(?=\s*\d)"), " below "),
    (re.compile(r"(?<=\d)\+(?!\w)"), " minimum "),
)  # fmt: skip
# applied after number words became digits
_BOUNDS: Final = (
    (re.compile(r"\b(?:(?:older|lower|less|earlier|fewer|shorter) than|under) (?=\d)"), "below "),
    (re.compile(r"\b(?:more|newer|later|higher|greater|bigger|longer) than (?=\d)"), "minimum "),
    (re.compile(r"\b(?:up to|as much as|as long as|at most) (?=\d)"), "maximum "),
    (re.compile(r"\b(?:close|near) to (?=\d)"), "nearly "),
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
_PART: Final = "step|stage|phase|part"
_NTH: Final = rf"(?P<nth>{'|'.join(ORDINALS)}|\d{{1,3}}(?=st|nd|rd|th))(?:st|nd|rd|th)?"
# each step has a label; "step 1 of 3" is not a share, and "step 2b" is not a size
_ORDERED: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"^\s*#?(\d{1,3})[.)](?=\s+[^\W\d])"), r"step \1:"),
    (re.compile(rf"\b{_NTH} (?P<part>{_PART})\b"),
     lambda found: f"{found['part']} {ORDINALS.get(found['nth'], found['nth'])}"),
    (re.compile(rf"\b({_PART}) #?(\d{{1,3}}) ?(?:/|of|out of) ?\d{{1,3}}\b"), r"\1 \2"),
    (re.compile(rf"\b({_PART}) #?(\d{{1,3}}[a-z])\b"), r"\1 id_\2"),
)  # fmt: skip
_TIMES: Final = "seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|quarters?|years?"
_BEFORE_TIME: Final = "(takes?|took|in|within|for|lasts?|lasted|needs?|needed|after|only|it is)"
_UNDER: Final = "(less than|under|below|within|in|about|over|more than|every)"
_PARTS: Final = {"third": 33, "quarter": 25, "fifth": 20, "tenth": 10}
_READY: Final = r"\b(ready|up|back|warm|available|usable|answers?|answered|starts|started|done)"
_AT_ONCE: Final = r"(?:at once|immediately|instantly|right away|straight away|in no time)\b"
# an exception is a condition, although its word has the stem of a failure
_EXCEPT: Final = re.compile(
    r"\b(?:with the exception of|except(?:ing)?(?: for| that)?(?! (?:when|if)\b)|excluding)\b"
)
_SPELLED: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"\b(40[1-9]|429|499|50[1-9])s\b"), r"\1"),  # error codes, not seconds
    (re.compile(r"\bexcept (?:for )?(?:when|if)\b"), "unless"),
    (_EXCEPT, "besides"),
    (re.compile(r"\b((?:all|every|each|any|no|none|nothing|everything)(?: \w+){0,2}) but "
                r"(?=(?:the|those|its|for|on|at|in|1)\b)"), r"\1 besides "),
    (re.compile(r"\b(\d) 100\b"), r"\g<1>00"),
    (re.compile(r"\b(\d{1,3}) thousand\b"), r"\g<1>000"),
    (re.compile(rf"\b(?:an?|1) ({_TIMES}) and an? half\b"), r"1.5 \1"),
    (re.compile(rf"\b(\d+) and an? half ({_TIMES})\b"), r"\1.5 \2"),
    (re.compile(rf"\bhalf (?:an?|1) ({_TIMES})\b"), r"0.5 \1"),
    (re.compile(rf"\b(?:an?|1) half[- ]({_TIMES})\b"), r"0.5 \1"),
    (re.compile(r"\bquarter (?:of )?an hour\b"), "15 minutes"),
    (re.compile(r"\b3 quarters of an hour\b"), "45 minutes"),
    (re.compile(rf"\b{_UNDER} (?:a|1) second\b"), r"\1 1 s"),
    (re.compile(r"\b(?:a )?half (?:of )?(?=(?:the|its|all)\b)"), "50 % of "),
    (re.compile(r"\b(?:a|1) (third|quarter|fifth|tenth) of\b"),
     lambda found: f"{_PARTS[found[1]]} % of"),
    (re.compile(r"\b(\d) (third|quarter|fifth|tenth)s of\b"),
     lambda found: f"{int(found[1]) * _PARTS[found[2]]} % of"),
    (re.compile(r"\b(\d{1,2}) (?:out of|of|in) (?:every )?(\d{1,2})\b(?! [ap]m|:)"),
     lambda found: f"{100 * int(found[1]) // (int(found[2]) or 1)} % of"),
    (re.compile(r"\b(?:all|whole) night\b(?: long)?"), "8-12 hours"),
    (re.compile(r"\buntil the next (day|week|month)\b"), r"1 \1"),
    (re.compile(r"\bmost of (?:an?|1|the) (second|minute|hour|day|week|month|year)\b"),
     r"0.6-1 \1"),
    (re.compile(r"(?<![\d.] )\b(seconds|minutes|hours|days) (?=after\b|later\b|until\b)"),
     r"2-59 \1 "),
    (re.compile(rf"\b{_BEFORE_TIME} seconds\b"), r"\1 2-59 seconds"),
    (re.compile(rf"\b{_BEFORE_TIME} minutes\b"), r"\1 2-59 minutes"),
    (re.compile(rf"\b{_BEFORE_TIME} hours\b"), r"\1 2-23 hours"),
    (re.compile(rf"\b{_BEFORE_TIME} (days|weeks|months|years)\b"), r"\1 2-9 \2"),
    (re.compile(rf"^(?:instant|instantly|immediate)\b|{_READY} {_AT_ONCE}"), r"\1 0-5 seconds"),
    (re.compile(rf"\b(?:an? )?2 of ({_TIMES})\b"), r"2 \1"),
    (re.compile(rf"\ban? few ({_TIMES})\b"), r"2-9 \1"),
    (re.compile(rf"\b(?:some|several|few) ({_TIMES})\b"), r"2-9 \1"),
    (re.compile(r"\bfortnight\b"), "2 weeks"),
    (re.compile(r"\bfortnightly\b"), "every 2 weeks"),
    (re.compile(r"\bbiweekly\b"), "every 2 weeks"),
    (re.compile(r"(?<!\S)0 \*/(\d+) \* \* \*(?!\S)"), r"every \1 hours"),
    (re.compile(r"(?<!\S)\*/(\d+) \* \* \* \*(?!\S)"), r"every \1 minutes"),
    (re.compile(r"(?<!\S)(\d\d?) (\d\d?) \* \* \*(?!\S)"), r"\2:\1 every 1 day"),
    (re.compile(r"\bhalf past (\d+)"), r"\1:30"),
    (re.compile(r"\bquarter past (\d+)"), r"\1:15"),
    (re.compile(r"\b(\d{1,2})(:\d\d)? (?:in the morning|o'?clock in the morning|at night)"),
     r"\1\2 am"),
    (re.compile(r"\b(\d{1,2})(:\d\d)? in the (?:evening|afternoon)"), r"\1\2 pm"),
    (re.compile(r"\bnoon\b"), "12:00"),
    (re.compile(r"\bmidnight\b"), "00:00"),
    (re.compile(r"\ball day(?: long)?\b"), "24 hours"),
    (re.compile(r"\bevery other (day|week|month|hour|year)\b"), r"every 2 \1s"),
    (re.compile(r"\bevery second (day|week|month|hour|year)\b"), r"every 2 \1s"),
    (re.compile(rf"\b(\d+) times (?:an?|per|each|every) ({_TIMES})\b"), r"split \1 \2"),
    (re.compile(rf"\b(?:once|1 times?) (?:an? (?={_TIMES}|night)|(?:per|each|every) )(\w+)\b"),
     r"every 1 \1"),
    (re.compile(r"(?<!at )\bonce(?=(?: before| after| and then| in all)\b| *(?:$|[.,;:)]))"),
     "1 times"),
    (re.compile(rf"\bonce in (\d+) ({_TIMES})\b"), r"every \1 \2"),
    (re.compile(rf"\b(?:an?|1) (\w+) (?:per|each|every) ({_TIMES})\b"), r"\1 every 1 \2"),
    (re.compile(r"\b(\d+)[- ](\w+) intervals?\b"), r"every \1 \2"),
    (re.compile(r"\b(hour|day|week|month|quarter|year|night)ly\b"), r"every 1 \1"),
    (re.compile(r"\b(?:daily|dai1y)\b"), "every 1 day"),
    (re.compile(r"\b(?:annually|annual|once yearly)\b"), "every 1 year"),
    (re.compile(r"\b(?:each|every) (second|minute|hour|day|week|month|quarter|year|night)\b"),
     r"every 1 \1"),
    (re.compile(r"\b(?:each|every) (?:morning|evening)\b"), "every 1 day"),
    # "60 requests a minute" is not a duration
    (re.compile(r"(^|\b(?:about|after|by|for|in|within|under|over|than|least|most|nearly|almost|around"
                r"|only|roughly|another|takes?|took|needs?|wait|lasts?|of) )an? (?:full |whole )?"
                r"(minute|hour|day|week|month|year)\b"),
     r"\g<1>1 \2"),
    (re.compile(r"\ban? (day|week|month|year) (?=(?:before|after|later|old|late|ago)\b)"),
     r"1 \1 "),
)  # fmt: skip

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
_TURNED: Final = frozenset(
    map(
        frozenset,
        [
            ("above", "below"),
            ("over", "under"),
            ("with", "without"),
            ("on", "off"),
            ("first", "last"),
            ("most", "few"),
            ("only", "except"),
            ("our", "their"),
            ("anything", "nothing"),
        ],
    )
)
"""Small words of opposite meaning whose weight in the comparison is too low."""


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
    for pattern, words in _CONTRACTIONS:
        normalized = pattern.sub(words, normalized)
    normalized = _NUMBER_WORD.sub(lambda found: _WORDED[found[0]], normalized)
    for pattern, spelled in (*_ORDERED, *_SPELLED):
        normalized = pattern.sub(spelled, normalized)
    for pattern, bound in _BOUNDS:
        normalized = pattern.sub(bound, normalized)
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
    text = match[0].strip()
    if match["weekday"] is not None:
        low, high = _day_range(text)
        return TextItem("weekday", text, low, high)
    for name in ("path", "address", "version", "name", "word", "stop", "ordinal"):
        if match[name] is not None:
            return TextItem(name, _normalize_name(name, text))
    if match["clock"] is not None:
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
