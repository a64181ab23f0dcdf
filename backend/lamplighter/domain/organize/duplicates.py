"""Near-duplicates: texts that differ only in wording, by trigrams (four-tier-memory-schema)."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from typing import Final

from lamplighter.domain.graph.mentions import TOOLS
from lamplighter.domain.memory.memory import OPERATIONAL, Memory, is_unreviewed
from lamplighter.domain.stemming import stem, stems

SIMILAR: Final = 0.85
"""Two texts are near-duplicates above this share of common trigrams."""

MAX_COMPARED: Final = 100
"""The maximum number of newer texts with a common rare trigram that a text is compared with."""

_WORD: Final = re.compile(r"\w(?:[\w.:/@+#%'’-]*\w)?")
_CODE: Final = re.compile(r"[\d/@:#%_]|\w\.\w|[a-z][A-Z]|^[A-Z]{2,}$")
_CODE_IN_LOWER_CASE: Final = re.compile(r"[\d/@:#%_]|\w\.\w")
_DENIALS: Final = stems("not no never without none neither nor nothing nobody cannot")
_DATES: Final = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december
"""
DATES: Final = frozenset(_DATES.split())
_DENIAL: Final = "not"
_TYPO: Final = 0.8
_SAME_FORM: Final = 0.5


@lru_cache(maxsize=16_384)
def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of the words of a text, without regard to case (as in `pg_trgm`).

    Each word has two spaces before it and one after.
    """
    padded = (f"  {word} " for word in re.findall(r"\w+", text.casefold()))
    return frozenset(word[at : at + 3] for word in padded for at in range(len(word) - 2))


def similarity(one: str, other: str) -> float:
    """Return the share of common trigrams of two texts, 0 to 1."""
    left, right = trigrams(one), trigrams(other)
    common = len(left & right)
    every = len(left) + len(right) - common
    return common / every if every else 1.0


@dataclass(frozen=True, slots=True)
class _Text:
    """The words of a text, and counts of those that distinguish it."""

    parts: list[str]
    lower: list[str]
    folded: Counter[str]
    distinctive: Counter[str]
    """Numbers, identifiers, names and dates."""

    denials: int


@lru_cache(maxsize=2_048)
def _read_words(text: str, names: frozenset[str] = frozenset()) -> _Text:
    parts = _WORD.findall(text)
    distinctive = _distinctive(parts, names)
    denials = distinctive.pop(_DENIAL, 0)
    lower = [word.casefold() for word in parts]
    return _Text(parts, lower, Counter(map(_fold, parts)), distinctive, denials)


def is_duplicate(one: str, other: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether two texts state the same in nearly the same words.

    Never if a number, a name or a negation differs. `names` are further names, in lower case.
    """
    if similarity(one, other) <= SIMILAR:
        return False
    left, right = _read_words(one, names), _read_words(other, names)
    return not _is_distinct(left, right) and all(
        _is_rewording(before, after) for before, after in _replaced(left, right)
    )


def drops_nothing(short: str, long: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether a text is part of a longer one that adds no number and no negation.

    A text without the number or the negation of the longer one states something else.
    """
    part, whole = _read_words(short, names), _read_words(long, names)
    if f" {' '.join(part.lower)} " not in f" {' '.join(whole.lower)} ":
        return False
    return not _is_distinct(part, whole)


def differs_in_subject(one: str, other: str) -> bool:
    """Return whether two sentences of one form differ in several places: both may be true.

    `Use Redis for invoices` and `Use Kafka for logs` are about different things, `Use Redis for
    invoices` and `Use Kafka for invoices` are not.
    """
    matcher = SequenceMatcher(None, _read_words(one).lower, _read_words(other).lower)
    replaced = sum(what == "replace" for what, *_ in matcher.get_opcodes())
    return replaced > 1 and matcher.ratio() >= _SAME_FORM


def find_duplicates(
    memories: Iterable[Memory],
    names: frozenset[str] = frozenset(),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[tuple[Memory, Memory]]:
    """Return each memory that a newer one repeats, with the newer one.

    Compares memories of one source, kind, service and project, each with a limited number of newer
    ones, so that thousands of texts of one form take seconds. Operational, pinned and reviewed
    memories are never the older one of a pair.
    """
    groups = list(_groups(memories))
    done, total = 0, sum(map(len, groups))

    def counted(ordered: Iterable[Memory]) -> Iterator[Memory]:
        nonlocal done
        for each in ordered:
            yield each
            done += 1
            progress(done, total)

    return [pair for group in groups for pair in _find_in_group(group, names, counted)]


def count_duplicates(
    memories: Iterable[Memory], names: frozenset[str] = frozenset()
) -> tuple[int, int]:
    """Return the number of memories that repeat a newer one, and how many can be replaced.

    The first number includes pinned and reviewed memories.
    """
    older = [
        memory
        for group in _groups(memories)
        for memory, _ in _find_in_group(group, names, every=True)
    ]
    return len(older), sum(map(_is_raw, older))


def _groups(memories: Iterable[Memory]) -> Iterable[list[Memory]]:
    groups: dict[object, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.active and memory.category not in OPERATIONAL:
            key = memory.source, memory.kind, memory.service, memory.project, memory.scope
            groups[key].append(memory)
    return groups.values()


def _is_raw(memory: Memory) -> bool:
    return is_unreviewed(memory) and not memory.pinned


def _find_in_group(
    group: Sequence[Memory],
    names: frozenset[str],
    counted: Callable[[Iterable[Memory]], Iterable[Memory]] = iter,
    *,
    every: bool = False,
) -> Iterator[tuple[Memory, Memory]]:
    ordered = sorted(group, key=lambda each: (each.updated_at, each.id), reverse=True)
    common = Counter(part for each in ordered for part in trigrams(each.observation))
    by_part: dict[object, deque[Memory]] = defaultdict(lambda: deque(maxlen=MAX_COMPARED))
    for memory in counted(ordered):
        text = memory.observation
        rarest = sorted(trigrams(text), key=lambda part: (common[part], part))
        # a similarity above 0.85 requires one of these in common
        decisive = rarest[: len(rarest) - int(SIMILAR * len(rarest))]
        codes = _codes(text, names)
        keys = [(codes, part) for part in decisive]
        near = {each.id: each for key in keys for each in by_part[key]}
        newer = (every or _is_raw(memory)) and next(
            (
                each
                for _, each in sorted(near.items(), reverse=True)
                if is_duplicate(text, each.observation, names)
            ),
            None,
        )
        if newer:
            yield memory, newer
            continue
        for key in keys:
            by_part[key].append(memory)


def _codes(text: str, names: frozenset[str]) -> frozenset[tuple[str, int]]:
    """Return the words with their counts that are distinctive in any place and case."""
    return frozenset(
        (word, count)
        for word, count in _read_words(text, names).folded.items()
        if _CODE_IN_LOWER_CASE.search(word) or _is_name(word, names)
    )


def _is_distinct(left: _Text, right: _Text) -> bool:
    """Return whether a number, identifier, name, date or negation is in only one of two texts."""
    return left.denials != right.denials or any(
        one.distinctive[word] > other.folded[word]
        for one, other in ((left, right), (right, left))
        for word in one.distinctive
    )


def _replaced(left: _Text, right: _Text) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield the words that replace others between the common start and end of two texts."""
    start = _count_equal(left.lower, right.lower)
    end = _count_equal(left.lower[start:][::-1], right.lower[start:][::-1])
    some, others = (
        (each.parts[start : len(each.parts) - end], each.lower[start : len(each.parts) - end])
        for each in (left, right)
    )
    for what, a, b, c, d in SequenceMatcher(None, some[1], others[1]).get_opcodes():
        if what == "replace":
            yield some[0][a:b], others[0][c:d]


def _count_equal(left: Sequence[str], right: Sequence[str]) -> int:
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )


def _fold(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("’s")


def _distinctive(words: Sequence[str], names: frozenset[str]) -> Counter[str]:
    """Return the numbers, identifiers, names, dates and negations among words."""
    counts: Counter[str] = Counter()
    for at, word in enumerate(words):
        folded = _fold(word)
        if _CODE.search(word) or _is_name(folded, names):
            counts[folded] += 1
        elif stem(folded) in _DENIALS or folded.endswith(("n't", "n’t")):
            counts[_DENIAL] += 1
        elif at and word[0].isupper():
            counts[folded] += 1
    return counts


def _is_name(folded: str, names: frozenset[str]) -> bool:
    return folded in names or folded in TOOLS or folded in DATES


def _is_rewording(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether words were only inflected or misspelled."""
    if len(before) != len(after):
        return False
    return all(
        stem(one.casefold()) == stem(other.casefold())
        or (min(len(one), len(other)) > 4 and _is_typo(SequenceMatcher(None, one, other)))
        for one, other in zip(before, after, strict=True)
    )


def _is_typo(matcher: SequenceMatcher[str]) -> bool:
    return matcher.quick_ratio() >= _TYPO and matcher.ratio() >= _TYPO
