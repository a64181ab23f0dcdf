"""Analysis of an observation: its clauses of words and measures."""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.relate.outcome import NO_OUTCOME, Outcome
from lamplighter.domain.relate.slots import AttributeSlot

LIGHT: Final = 0.35
POLAR: Final = 0.5


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a word; `sign` -1 is the other end of an axis of opposites.

    `tells` -1 says that something is not so, or goes wrong. `thing` marks an axis of two things.
    """

    key: str
    sign: int = 1
    tells: int = 1
    thing: bool = False

    @property
    def axis(self) -> bool:
        """Whether this sense is one end of an axis of antonyms."""
        return self.key.endswith("±")


@dataclass(frozen=True, slots=True)
class ClauseWord:
    """A word of a clause: its possible senses, its weight, and its position.

    `end` is +1 for a word of a good outcome, -1 for one of a bad outcome. `effect` is the effect of
    a verb on its subject: "remedies", "ceases" or "persists". `incidental` marks an event of a
    condition that the text does not deny: "after a crash".
    """

    senses: tuple[Sense, ...]
    surface: str
    weight: float
    place: int
    condition: bool = False
    name: bool = False
    raw: str = ""
    end: int = 0
    effect: str = ""
    incidental: bool = False
    ending: str = ""

    @property
    def label(self) -> str:
        """The spelling in the text."""
        return self.raw or self.surface.removeprefix("id_")


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with its unit, or an identifier of a kind: a path, a port, a version.

    `low` and `high` are in seconds, bytes, bits per second, percent or plain numbers by `kind`;
    `bound` marks a minimum ("min"), a maximum ("max") or an upper end ("below"). `condition` is
    whether the measure is part of a condition, `place` its position in the clause.
    """

    kind: str
    text: str
    low: float = 0.0
    high: float = 0.0
    bound: str = ""
    denied: bool = False
    condition: bool = False
    place: int = 0


@dataclass(frozen=True, slots=True)
class Clause:
    """One claim: its words in order, its measures, what it denies, in which order things go.

    `denials` are those of the claim itself, `denied_conditions` those behind a when or an if;
    `often` is from never (0) to always (4); `first` and `then` are the words for what comes
    first and what comes then; `predicate` is where the verb stands, -1 when none is known.
    `links` are the kinds of its conditions with their places (outcome.py), `opener` is the kind of
    the whole clause; `ordinals` say which of several things of a name is meant; `several` are the
    places of what is one of several values at a time: a cause, a condition, what is needed.
    """

    tokens: tuple[ClauseWord, ...]
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
    outcome: Outcome = NO_OUTCOME
    ordinals: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, int], ...] = ()
    opener: str = ""
    also: bool = False
    several: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analyzed observation, with the version of the lexicon used."""

    lexicon: str
    clauses: tuple[Clause, ...]
    slots: tuple[AttributeSlot, ...] = ()

    @property
    def claims(self) -> tuple[Clause, ...]:
        """The clauses except those after "otherwise"."""
        return tuple(each for each in self.clauses if not each.otherwise) or self.clauses

    @property
    def terms(self) -> frozenset[str]:
        """The keys for a lookup: every sense of every significant word."""
        return frozenset(
            sense.key
            for clause in self.clauses
            for word in clause.tokens
            if word.weight > LIGHT
            for sense in word.senses
        )
