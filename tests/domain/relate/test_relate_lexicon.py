"""The built-in lexicon follows its own rules."""

import tomllib
from itertools import pairwise

import pytest

from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.relate.lexicon import (
    LISTS,
    TABLES,
    builtin_source,
    extend_builtin,
    parse_lexicon,
)
from lamplighter.domain.relate.text import to_digits

FOUND = tomllib.loads(builtin_source())
LEXICON = builtin_lexicon()
# short names, of which nothing else is said
ALONE = {"ad", "ca", "dc", "dlq", "gc", "leastconn", "pop", "roundrobin", "setup", "sso"}


def roots(words: str) -> set[str]:
    return {LEXICON.root(word) for word in words.split()}


def test_the_lexicon_has_exactly_the_documented_tables_and_lists() -> None:
    assert set(FOUND) == {"version", *TABLES, *LISTS}


def test_no_word_is_on_both_poles_of_an_axis() -> None:
    for axis, (one, two) in FOUND["opposites"].items():
        assert not roots(one) & roots(two), axis


def test_every_outcome_axis_exists() -> None:
    assert set(FOUND["valence"].split()) <= FOUND["opposites"].keys()


def test_the_replacement_of_each_phrase_is_a_word_of_the_lexicon() -> None:
    known = {
        *LEXICON.heads,
        *LEXICON.poles,
        *LEXICON.scales,
        *LEXICON.forms.values(),
        *(roots(" ".join(FOUND[name] for name in LISTS if name != "valence"))),
        *roots("because not no never without until unless only minimum maximum below"),
    }
    unknown = {
        word for word in FOUND["phrases"].values() if LEXICON.root(to_digits(word)) not in known
    }
    assert unknown <= ALONE, unknown - ALONE


def test_each_table_entry_is_lowercase_and_not_empty() -> None:
    for table in ("synonyms", "forms"):
        for head, words in FOUND[table].items():
            assert len(head.split()) == 1, head
            assert words == words.lower(), head
    for one, two in FOUND["opposites"].values():
        assert one.split()
        assert two.split()


def test_scales_are_ordered_from_never_to_always() -> None:
    steps = [
        LEXICON.scales[LEXICON.root(word)] for word in ("always", "usually", "sometimes", "rarely")
    ]
    assert all(more > less for more, less in pairwise(steps))
    assert set(LEXICON.scales.values()) <= set(range(5))


def test_the_version_changes_with_the_words_of_an_operator() -> None:
    one, two = extend_builtin('fillers = "erm"'), extend_builtin('fillers = "hmm"')
    assert len({LEXICON.version, one.version, two.version}) == 3
    assert one.version == extend_builtin('fillers = "erm"').version


def test_a_word_may_have_several_meanings() -> None:
    lexicon = parse_lexicon(builtin_source(), '[synonyms]\nflood = "gush"\nlaugh = "gush"\n')
    assert lexicon.meanings(lexicon.root("gush")) == ("flood", "laugh")


@pytest.mark.parametrize(
    "text", ["[", "fillers = 1", "[opposites]\na = [1, 2]", "b = [[[[" * 9_000]
)
def test_an_invalid_lexicon_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"TOML|text of words|list of two|nested"):
        extend_builtin(text)
