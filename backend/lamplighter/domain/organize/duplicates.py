"""Near-duplicates: texts that differ only in wording, by trigrams (four-tier-memory-schema)."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from lamplighter.domain.graph.mentions import TOOLS
from lamplighter.domain.memory.memory import OPERATIONAL, Memory, is_unreviewed
from lamplighter.domain.stemming import stem, stems

SIMILAR: Final = 0.85
"""Two texts are near-duplicates above this share of common trigrams."""

_WORD: Final = re.compile(r"\w(?:[\w.:/@+#%'’-]*\w)?")
_CODE: Final = re.compile(r"[\d/@:#%_]|\w\.\w|[a-z][A-Z]|^[A-Z]{2,}$")
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
    return len(left & right) / len(left | right) if left or right else 1.0


def is_duplicate(one: str, other: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether two texts state the same in nearly the same words.

    Never if a number, a name or a negation differs. `names` are further names, in lower case.
    """
    if similarity(one, other) <= SIMILAR:
        return False
    left, right = _split_words(one), _split_words(other)
    if _is_distinct(left, right, names):
        return False
    matcher = SequenceMatcher(None, [w.casefold() for w in left], [w.casefold() for w in right])
    return all(
        _is_rewording(left[a:b], right[c:d])
        for what, a, b, c, d in matcher.get_opcodes()
        if what == "replace"
    )


def drops_nothing(short: str, long: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether a text is part of a longer one that adds no number and no negation.

    A text without the number or the negation of the longer one states something else.
    """
    whole = " ".join(map(str.casefold, _split_words(long)))
    part = " ".join(map(str.casefold, _split_words(short)))
    if f" {part} " not in f" {whole} ":
        return False
    return not _is_distinct(_split_words(short), _split_words(long), names)


def differs_in_subject(one: str, other: str) -> bool:
    """Return whether two sentences of one form differ in several places: both may be true.

    `Use Redis for invoices` and `Use Kafka for logs` are about different things, `Use Redis for
    invoices` and `Use Kafka for invoices` are not.
    """
    left, right = ([word.casefold() for word in _split_words(text)] for text in (one, other))
    matcher = SequenceMatcher(None, left, right)
    replaced = sum(what == "replace" for what, *_ in matcher.get_opcodes())
    return replaced > 1 and matcher.ratio() >= _SAME_FORM


def find_duplicates(
    memories: Iterable[Memory],
    names: frozenset[str] = frozenset(),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[tuple[Memory, Memory]]:
    """Return each memory that a newer one repeats, with the newer one.

    Compares memories of one source, kind, service and project. Operational, pinned and reviewed
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
    by_trigram: dict[str, list[Memory]] = defaultdict(list)
    for memory in counted(ordered):
        rarest = sorted(trigrams(memory.observation), key=lambda part: (common[part], part))
        # a similarity above 0.85 requires one of these in common
        decisive = rarest[: len(rarest) - int(SIMILAR * len(rarest))]
        near = {each.id: each for part in decisive for each in by_trigram[part]}
        newer = (every or _is_raw(memory)) and next(
            (
                each
                for _, each in sorted(near.items(), reverse=True)
                if is_duplicate(memory.observation, each.observation, names)
            ),
            None,
        )
        if newer:
            yield memory, newer
            continue
        for part in decisive:
            by_trigram[part].append(memory)


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text)


def _is_distinct(left: Sequence[str], right: Sequence[str], names: frozenset[str]) -> bool:
    """Return whether a number, identifier, name, date or negation is in only one of two texts."""
    folded = tuple(Counter(map(_fold, some)) for some in (left, right))
    found = tuple(_distinctive(some, names) for some in (left, right))
    if found[0].pop(_DENIAL, 0) != found[1].pop(_DENIAL, 0):
        return True
    return bool(found[0] - folded[1] or found[1] - folded[0])


def _fold(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("’s")


def _distinctive(words: Sequence[str], names: frozenset[str]) -> Counter[str]:
    """Return the numbers, identifiers, names, dates and negations among words."""
    counts: Counter[str] = Counter()
    for at, word in enumerate(words):
        folded = _fold(word)
        if _CODE.search(word) or folded in names or folded in TOOLS or folded in DATES:
            counts[folded] += 1
        elif stem(folded) in _DENIALS or folded.endswith(("n't", "n’t")):
            counts[_DENIAL] += 1
        elif at and word[0].isupper():
            counts[folded] += 1
    return counts


def _is_rewording(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether words were only inflected or misspelled."""
    if len(before) != len(after):
        return False
    return all(
        stem(one.casefold()) == stem(other.casefold())
        or (min(len(one), len(other)) > 4 and SequenceMatcher(None, one, other).ratio() >= _TYPO)
        for one, other in zip(before, after, strict=True)
    )
