"""What words mean to us: synonyms, opposites, phrases. A data file that operators can extend."""

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from lamplighter.domain.relate.text import digits, stem

TABLES: Final = ("phrases", "forms", "synonyms", "opposites", "scales")
LISTS: Final = (
    "fillers",
    "light",
    "valence",
    "bad",
    "void",
    "all",
    "some",
    "single",
    "several",
    "conditions",
)


@dataclass(frozen=True, slots=True)
class Pole:
    """One end of an axis of opposites; `sign` +1 or -1, `tells` whether it says yes or no."""

    axis: str
    sign: int
    tells: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words by their stems; `version` goes with every analysis that was made with it."""

    version: str
    phrases: Mapping[tuple[str, ...], str] = field(repr=False)
    forms: Mapping[str, str] = field(repr=False)
    heads: Mapping[str, tuple[str, ...]] = field(repr=False)
    poles: Mapping[str, tuple[Pole, ...]] = field(repr=False)
    scales: Mapping[str, int] = field(repr=False)
    bad: frozenset[str] = field(repr=False)
    void: frozenset[str] = field(repr=False)
    all: frozenset[str] = field(repr=False)
    some: frozenset[str] = field(repr=False)
    fillers: frozenset[str] = field(repr=False)
    light: frozenset[str] = field(repr=False)
    single: frozenset[str] = field(repr=False)
    several: frozenset[str] = field(repr=False)
    conditions: frozenset[str] = field(repr=False)
    longest: int = 1

    def root(self, word: str) -> str:
        """Return the stem of a lower-case word, irregular forms included."""
        found = self.forms.get(word)
        return stem(word) if found is None else found

    def meanings(self, root: str) -> tuple[str, ...]:
        """Return the words that stand for all of the same meaning; a word may have several."""
        return self.heads.get(root, (root,))


def read(*texts: str) -> Lexicon:
    """Read lexicon files; a later one adds to the earlier ones, and what it says of a word wins.

    Raises ValueError, naming what is wrong, for a text that is no lexicon.
    """
    tables: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
    lists: dict[str, set[str]] = {name: set() for name in LISTS}
    version = ""
    for text in texts:
        found = tomllib.loads(text)
        _check(found)
        for name in TABLES:
            tables[name].update(found.get(name, {}))
        for name in LISTS:
            lists[name].update(found.get(name, "").split())
        version = version or str(found.get("version", ""))
    if len(texts) > 1:
        version += "+" + hashlib.sha256("\n".join(texts[1:]).encode()).hexdigest()[:8]
    return _built(version, tables, lists)


@cache
def built_in() -> Lexicon:
    """Return the lexicon that comes with the product."""
    return read(source())


def source() -> str:
    """Return the text of the lexicon that comes with the product."""
    return files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")


def _check(found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if name not in (*TABLES, *LISTS, "version"):
            raise ValueError(f"{name} is not known here; known are {', '.join((*TABLES, *LISTS))}")
        wanted, kind = (dict, "table") if name in TABLES else (str, "text of words")
        if not isinstance(value, wanted):
            raise ValueError(f"{name} is not a {kind}")
    for name, right in _RIGHT.items():
        for word, value in found.get(name, {}).items():
            if not right(value):
                raise ValueError(f"{name}.{word} is not {_WANTED[name]}")


def _is_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.split())


def _are_poles(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_words, value))


def _is_scale(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= 4


_RIGHT: Final[Mapping[str, Callable[[object], bool]]] = {
    "phrases": _is_words,
    "forms": _is_words,
    "synonyms": _is_words,
    "opposites": _are_poles,
    "scales": _is_scale,
}
_WANTED: Final = {
    "phrases": "a text of words",
    "forms": "a text of words",
    "synonyms": "a text of words",
    "opposites": "a list of two texts of words",
    "scales": "a whole number from 0 to 4",
}


def _built(
    version: str, tables: Mapping[str, Mapping[str, Any]], lists: Mapping[str, Iterable[str]]
) -> Lexicon:
    forms = {
        form: form if form == word else stem(word)
        for word, each in tables["forms"].items()
        for form in each.split()
    }

    def root(word: str) -> str:
        return forms.get(word) or stem(word)

    heads = _heads(tables["synonyms"], root)

    def roots(name: str) -> frozenset[str]:
        return frozenset(heads.get(each, (each,))[0] for each in map(root, lists[name]))

    phrases = {
        tuple(root(digits(part)) for part in phrase.lower().replace("-", " ").split()): word
        for phrase, word in tables["phrases"].items()
    }
    return Lexicon(
        version=version,
        phrases=phrases,
        forms=forms,
        heads=heads,
        poles=_poles(tables["opposites"], heads, root, set(lists["valence"])),
        scales={root(word): scale for word, scale in tables["scales"].items()},
        bad=frozenset(map(root, lists["bad"])),
        void=frozenset(map(root, lists["void"])),
        all=frozenset(map(root, lists["all"])),
        some=frozenset(map(root, lists["some"])),
        fillers=frozenset(map(root, lists["fillers"])),
        light=roots("light"),
        single=roots("single"),
        several=roots("several"),
        conditions=frozenset(map(root, lists["conditions"])),
        longest=max(map(len, phrases), default=1),
    )


def _heads(synonyms: Mapping[str, str], root: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    """Return for each word its meanings; a head that is a word of another line means that too."""
    heads: dict[str, tuple[str, ...]] = {}
    for head, words in synonyms.items():
        for word in (head, *words.split()):
            held = heads.get(root(word), ())
            heads[root(word)] = (*held, root(head)) if root(head) not in held else held
    return heads


def _poles(
    opposites: Mapping[str, list[str]],
    heads: Mapping[str, tuple[str, ...]],
    root: Callable[[str], str],
    valence: set[str],
) -> dict[str, tuple[Pole, ...]]:
    poles: dict[str, tuple[Pole, ...]] = {}
    for axis, ends in opposites.items():
        for sign, words in zip((1, -1), ends, strict=True):
            for word in map(root, words.split()):
                poles[word] = (*poles.get(word, ()), Pole(axis, sign, axis in valence))
    return poles
