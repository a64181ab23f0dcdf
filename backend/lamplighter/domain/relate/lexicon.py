"""The lexicon: synonyms, opposites and phrases. A data file that operators can extend."""

import hashlib
import tomllib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from lamplighter.domain.relate.text import to_digits
from lamplighter.domain.stemming import stem

TABLES: Final = ("phrases", "forms", "synonyms", "opposites", "scales")
PHRASE_WORDS: Final = 10
EFFECTS: Final = ("remedies", "ceases", "persists")
# later ones take precedence
ENDINGS: Final = ("good", "ill", "trouble", *EFFECTS, "lost", "futile")
LISTS: Final = (
    "fillers",
    "light",
    "valence",
    "bad",
    "good",
    "ill",
    "trouble",
    "lost",
    "futile",
    *EFFECTS,
    "all",
    "some",
    "single",
    "several",
    "things",
    "common",
    "conditions",
)


@dataclass(frozen=True, slots=True)
class Pole:
    """One end of an axis of opposites; `sign` +1 or -1, `tells` whether it is affirmative."""

    axis: str
    sign: int
    tells: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words by their stems; each analysis records the `version` of its lexicon.

    `longest` is the length of the longest phrase that begins with a stem.
    """

    version: str
    phrases: Mapping[tuple[str, ...], str] = field(repr=False)
    forms: Mapping[str, str] = field(repr=False)
    heads: Mapping[str, tuple[str, ...]] = field(repr=False)
    poles: Mapping[str, tuple[Pole, ...]] = field(repr=False)
    common: Mapping[str, tuple[Pole, ...]] = field(repr=False)
    scales: Mapping[str, int] = field(repr=False)
    bad: frozenset[str] = field(repr=False)
    good: frozenset[str] = field(repr=False)
    ill: frozenset[str] = field(repr=False)
    endings: Mapping[str, str] = field(repr=False)
    effects: Mapping[str, str] = field(repr=False)
    all: frozenset[str] = field(repr=False)
    some: frozenset[str] = field(repr=False)
    fillers: frozenset[str] = field(repr=False)
    light: frozenset[str] = field(repr=False)
    single: frozenset[str] = field(repr=False)
    several: frozenset[str] = field(repr=False)
    frames: frozenset[str] = field(repr=False)
    things: frozenset[str] = field(repr=False)
    conditions: frozenset[str] = field(repr=False)
    longest: Mapping[str, int] = field(repr=False)

    def root(self, word: str) -> str:
        """Return the stem of a lower-case word, irregular forms included."""
        found = self.forms.get(word)
        return stem(word) if found is None else found

    def meanings(self, root: str) -> tuple[str, ...]:
        """Return the representative words of the meanings of a word, one or several."""
        return self.heads.get(root, (root,))


def extend_builtin(text: str) -> Lexicon:
    """Return the built-in lexicon extended by an operator's file.

    Raises ValueError, naming the line or the key, if the text is not a valid lexicon.
    """
    return parse_lexicon(builtin_source(), text)


def parse_lexicon(*texts: str) -> Lexicon:
    """Parse lexicon files; a later one adds to the earlier ones.

    For phrases and frequencies, the later file overrides.
    """
    tables: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
    lists: dict[str, set[str]] = {name: set() for name in LISTS}
    version = ""
    for text in texts:
        document = _parse(text)
        for name in TABLES:
            add = _MERGERS.get(name, lambda _, value: value)
            for word, value in document.get(name, {}).items():
                held = tables[name].get(word.lower())
                tables[name][word.lower()] = value if held is None else add(held, value)
        for name in LISTS:
            lists[name].update(document.get(name, "").lower().split())
        version = version or str(document.get("version", ""))
    if len(texts) > 1:
        version += "+" + hashlib.sha256("\n".join(texts[1:]).encode()).hexdigest()[:8]
    return _build(version, tables, lists)


@cache
def builtin_lexicon() -> Lexicon:
    """Return the lexicon that ships with the product."""
    return parse_lexicon(builtin_source())


def builtin_source() -> str:
    """Return the text of the lexicon that ships with the product."""
    return files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")


def _parse(text: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not TOML: {error}") from None
    _check(document)
    return document


def _check(document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        if name not in (*TABLES, *LISTS, "version"):
            raise ValueError(
                f"{name} is not a known key; known keys are {', '.join((*TABLES, *LISTS))}"
            )
        wanted, kind = (dict, "table") if name in TABLES else (str, "text of words")
        if not isinstance(value, wanted):
            raise ValueError(f"{name} is not a {kind}")
    for name, right in _VALIDATORS.items():
        for word, value in document.get(name, {}).items():
            if not 1 <= len(word.split()) <= PHRASE_WORDS:
                raise ValueError(f"{name}.{word!r} is not 1 to {PHRASE_WORDS} words")
            if not right(value):
                raise ValueError(f"{name}.{word} is not {_EXPECTED[name]}")


def _is_word(value: object) -> bool:
    return isinstance(value, str) and len(value.split()) == 1


def _is_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.split())


def _are_poles(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_words, value))


def _is_scale(value: object) -> bool:
    return type(value) is int and 0 <= value <= 4


def _more_words(existing: str, more: str) -> str:
    return f"{existing} {more}"


def _more_poles(existing: Sequence[str], more: Sequence[str]) -> list[str]:
    return [_more_words(*ends) for ends in zip(existing, more, strict=True)]


_MERGERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "forms": _more_words,
    "synonyms": _more_words,
    "opposites": _more_poles,
}
_VALIDATORS: Final[Mapping[str, Callable[[object], bool]]] = {
    "phrases": _is_word,
    "forms": _is_words,
    "synonyms": _is_words,
    "opposites": _are_poles,
    "scales": _is_scale,
}
_EXPECTED: Final = {
    "phrases": "one word",
    "forms": "a text of words",
    "synonyms": "a text of words",
    "opposites": "a list of two texts of words",
    "scales": "a whole number from 0 to 4",
}


def _build(
    version: str, tables: Mapping[str, Mapping[str, Any]], lists: Mapping[str, Set[str]]
) -> Lexicon:
    forms = {
        form: form if form == word else stem(word)
        for word, each in tables["forms"].items()
        for form in each.lower().split()
    }

    def root(word: str) -> str:
        return forms.get(word.lower()) or stem(word.lower())

    heads = _heads(tables["synonyms"], root)

    def roots(name: str) -> frozenset[str]:
        return frozenset(heads.get(each, (each,))[0] for each in map(root, lists[name]))

    poles = _poles(tables["opposites"], root, lists)

    def _of(ends: Sequence[Pole], *, common: bool) -> tuple[Pole, ...]:
        return tuple(each for each in ends if (each.axis in lists["common"]) == common)

    phrases = {
        tuple(root(to_digits(part)) for part in phrase.replace("-", " ").split()): word.lower()
        for phrase, word in tables["phrases"].items()
    }
    return Lexicon(
        version=version,
        phrases=phrases,
        forms=forms,
        heads=heads,
        poles={word: each for word, ends in poles.items() if (each := _of(ends, common=False))},
        common={word: each for word, ends in poles.items() if (each := _of(ends, common=True))},
        scales={root(word): scale for word, scale in tables["scales"].items()},
        bad=frozenset(map(root, lists["bad"])),
        good=roots("good") | frozenset(map(root, lists["good"])),
        endings={root(word): name for name in ENDINGS for word in lists[name]},
        ill=roots("ill") | frozenset(map(root, lists["ill"])),
        effects={root(word): name for name in EFFECTS for word in lists[name]},
        all=frozenset(map(root, lists["all"])),
        some=frozenset(map(root, lists["some"])),
        fillers=frozenset(map(root, lists["fillers"])),
        light=roots("light"),
        single=roots("single"),
        several=roots("several"),
        frames=frozenset(map(root, lists["several"])),
        things=frozenset(lists["things"]),
        conditions=frozenset(map(root, lists["conditions"])),
        longest={phrase[0]: len(phrase) for phrase in sorted(filter(None, phrases), key=len)},
    )


def _heads(synonyms: Mapping[str, str], root: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    """Return the meanings of each word; a head on another line also has that line's meaning."""
    heads: dict[str, tuple[str, ...]] = {}
    for head, words in synonyms.items():
        for word in (head, *words.split()):
            held = heads.get(root(word), ())
            heads[root(word)] = (*held, root(head)) if root(head) not in held else held
    return heads


def _poles(
    opposites: Mapping[str, list[str]],
    root: Callable[[str], str],
    lists: Mapping[str, Set[str]],
) -> dict[str, tuple[Pole, ...]]:
    for name in ("valence", "things", "common"):
        if unknown := sorted(lists[name] - opposites.keys()):
            raise ValueError(f"{name}: {unknown[0]} is no axis of opposites")
    valence = lists["valence"]
    poles: dict[str, tuple[Pole, ...]] = {}
    for axis, ends in opposites.items():
        for sign, words in zip((1, -1), ends, strict=True):
            for word in map(root, words.split()):
                if any(pole.axis == axis and pole.sign != sign for pole in poles.get(word, ())):
                    raise ValueError(f"opposites.{axis}: {word} stands on both sides")
                poles[word] = (*poles.get(word, ()), Pole(axis, sign, axis in valence))
    return poles
