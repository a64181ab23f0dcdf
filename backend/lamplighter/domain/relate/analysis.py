"""What one observation says, taken apart once and kept: clauses of words and measures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.relate.lexicon import Lexicon
from lamplighter.domain.relate.text import Item, items, stem

READ_CHARS: Final = 2_000
LIGHT: Final = 0.35
POLAR: Final = 0.5
_BREAKS: Final = frozenset(";([)].!?")


def stems(words: str) -> frozenset[str]:
    """Return the stems of some words."""
    return frozenset(map(stem, words.split()))


_SPLITTERS: Final = stems("because since so hence therefore but however although though whereas")
_OPENERS: Final = stems(
    "when if while during after before with once whenever for in on as until without unless"
    " under at every because since"
)
_CLAIM: Final = 4
OTHERWISE: Final = stems("otherwise else")


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a word; `sign` -1 is the other end of an axis of opposites.

    `tells` -1 says that something is not so, or goes wrong; 0 that it changes nothing.
    """

    key: str
    sign: int = 1
    tells: int = 1


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a clause: what it may mean, how much it says, and where it stands."""

    senses: tuple[Sense, ...]
    surface: str
    weight: float
    place: int
    condition: bool = False
    name: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with its unit, or a thing that is one of its kind: a path, a port, a version.

    `low` and `high` are in seconds, bytes, bits a second, percent or plain numbers by its
    `kind`; `bound` says that it is a least ("min"), a most ("max") or an end ("below").
    """

    kind: str
    text: str
    low: float = 0.0
    high: float = 0.0
    bound: str = ""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One claim: its words in order, its measures, what it denies, in which order things go.

    `denials` are those of the claim itself, `denied_conditions` those behind a when or an if;
    `often` is from never (0) to always (4); `first` and `then` are the words for what comes
    first and what comes then; `predicate` is where the verb stands, -1 when none is known.
    """

    words: tuple[Word, ...]
    measures: tuple[Measure, ...]
    denials: int = 0
    denied_conditions: int = 0
    cancels: bool = False
    otherwise: bool = False
    often: int | None = None
    amount: str = ""
    only: bool = False
    first: frozenset[str] = frozenset()
    then: frozenset[str] = frozenset()
    single: bool = False
    predicate: int = -1


@dataclass(frozen=True, slots=True)
class Analysis:
    """An observation taken apart, with the version of the lexicon that it was read by."""

    lexicon: str
    clauses: tuple[Clause, ...]

    @property
    def claims(self) -> tuple[Clause, ...]:
        """The clauses without those that only tell what happens otherwise."""
        return tuple(each for each in self.clauses if not each.otherwise) or self.clauses

    @property
    def terms(self) -> frozenset[str]:
        """What to look it up by: each meaning of each word that says something."""
        return frozenset(
            sense.key
            for clause in self.clauses
            for word in clause.words
            if word.weight > LIGHT
            for sense in word.senses
        )


def analyse(text: str, lexicon: Lexicon, *, service: str | None = None) -> Analysis:
    """Take an observation apart; of a very long one, its first 2,000 characters.

    The name of its service says nothing: all that it is compared with is of the same one.
    """
    from lamplighter.domain.relate.reading import read_clause

    own = frozenset(stem(part) for part in _parts(service or ""))
    found = _phrased(items(text[:READ_CHARS]), lexicon)
    clauses = [read_clause(each, lexicon, own) for each in _split(found)]
    kept = tuple(each for each in clauses if each.words or each.measures)
    return Analysis(lexicon.version, kept)


def _parts(name: str) -> list[str]:
    whole = name.lower()
    return [whole, *whole.replace("_", "-").split("-")]


def _phrased(row: Sequence[Item], lexicon: Lexicon) -> list[Item]:
    """Put one word where a phrase stands; the longest phrase wins."""
    found: list[Item] = []
    at = 0
    roots = [lexicon.root(each.text) if each.kind in ("word", "number") else "" for each in row]
    while at < len(row):
        for length in range(min(lexicon.longest, len(row) - at), 0, -1):
            word = lexicon.phrases.get(tuple(roots[at : at + length]))
            if word is not None:
                found.append(Item("word", word))
                at += length
                break
        else:
            found.append(row[at])
            at += 1
    return found


def _split(row: Sequence[Item]) -> Iterator[list[Item]]:
    """Break a sentence into clauses; "otherwise" opens one back to the comma before it."""
    clause: list[Item] = []
    for at, item in enumerate(row):
        root = stem(item.text) if item.kind == "word" else ""
        ends = item.kind == "stop" and (item.text in _BREAKS or item.text.startswith("-"))
        if root in OTHERWISE:
            at = max((n for n, each in enumerate(clause) if each.text == ","), default=len(clause))
            yield clause[:at]
            clause = [item, *clause[at:]]
        elif ends or root in _SPLITTERS or _parts_claims(item, clause, row[at + 1 :]):
            yield clause
            clause = []
        else:
            clause.append(item)
    yield clause


def _parts_claims(item: Item, clause: Sequence[Item], rest: Sequence[Item]) -> bool:
    """Whether a comma parts two claims, and not a claim from its condition or its order."""
    if item.text != "," or len(clause) < _CLAIM or len(rest) < _CLAIM:
        return False
    opened = stem(clause[0].text) in _OPENERS or any(each.text == "first" for each in clause)
    return not opened and rest[0].text not in ("then", "or", "if", "when")
