"""Terms: words as both databases index them, and the stems of SQLite's own tokenizer."""

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.search.terms import fold, stem_term, term_spans, terms
from lamplighter.repository.store.driver import sqlite3

ROOTS = (
    *("relat", "condition", "valenc", "digit", "radic", "different", "analog", "oper", "decis"),
    *("feed", "hop", "tann", "fall", "hiss", "fizz", "fail", "fil", "conflat", "troubl", "siz"),
    *("sky", "happ", "restart", "monitor", "electr", "hope", "good", "form", "adjust", "revis"),
    *("y", "syzygy", "bow", "box", "control", "roll", "possib", "assemb", "topolog", "s", "ee"),
)
ENDINGS = (
    *("", "s", "es", "ies", "sses", "ed", "eed", "ing", "y", "ational", "tional", "enci", "anci"),
    *("izer", "bli", "bly", "alli", "entli", "eli", "ousli", "ization", "ation", "ator", "alism"),
    *("iveness", "fulness", "ousness", "aliti", "iviti", "biliti", "logi", "logy", "icate"),
    *("ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance", "ence", "er", "ic", "able"),
    *("ible", "ant", "ement", "ment", "ent", "ion", "sion", "tion", "ou", "ism", "ate", "iti"),
    *("ous", "ive", "ize", "e", "ll", "lle", "ying", "ies", "at", "bled", "izing"),
)
DOCS = Path(__file__).parents[2] / "docs"


def english() -> list[str]:
    made = {"".join(each) for each in itertools.product(ROOTS, ENDINGS)}
    for page in sorted(DOCS.rglob("*.md")):
        made |= set(re.findall(r"[a-z]{1,70}", page.read_text(encoding="utf-8").lower()))
    return sorted(made)


def test_stems_equal_those_of_sqlite() -> None:
    every = english()
    held = sqlite3.connect(":memory:")
    held.execute("CREATE VIRTUAL TABLE f USING fts5(x, tokenize='porter unicode61')")
    held.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, 'instance')")
    held.executemany("INSERT INTO f VALUES (?)", ((word,) for word in every))
    theirs = {doc: term for term, doc in held.execute("SELECT term, doc FROM v")}
    held.close()

    assert len(every) > 4_000
    assert {each: stem_term(each) for each in every} == {
        each: theirs[number] for number, each in enumerate(every, 1)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("!! -- *", []),
        ("Restarting the services", ["restart", "the", "servic"]),
        ("DEC-0054", ["dec", "0054", "dec_0054"]),
        ("2026.4.10", ["2026", "4", "10", "2026_4_10"]),
        ("no-route-to-host", ["no", "rout", "to", "host", "no_route_to_host"]),
        ("save_item(", ["save", "item", "save_item"]),
        ("saveItem", ["save", "item", "save_item", "saveitem"]),
        ("HTTPServer", ["http", "server", "http_server", "httpserver"]),
        ("/etc/caddy/Caddyfile.", ["etc", "caddi", "caddyfil", "etc_caddy_caddyfile"]),
        ("a--b", ["a", "b"]),
        ("Café naïve", ["cafe", "naiv"]),
        ("\uff21\uff22\uff23", ["abc"]),
        ("straße", ["strass"]),
        ("日本語の", ["日本", "本語", "語の", "の"]),
        ("池", ["池"]),
        ("nginx日本", ["nginx", "日本", "本"]),
        ("a\0b", ["a", "b"]),
        ("\ud800x", ["x"]),
        ("🔥disk ✅", ["u1f525", "disk", "u2705"]),
        ("👍🏽👍", ["u1f44d", "u1f44d"]),
        ("no-🔥-route 5€", ["no", "u1f525", "rout", "5", "u20ac"]),
        ("⚠️ a → b ── ● 90°", ["u26a0", "a", "b", "90"]),
    ],
)
def test_a_text_is_split_into_folded_and_stemmed_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_spellings_of_a_compound_name_share_a_term() -> None:
    for one, other in itertools.permutations(("save_item", "saveItem", "save-item"), 2):
        assert "save_item" in terms(one)
        assert set(terms(one)) & set(terms(other))
    assert set(terms("sqlite")) <= set(terms("SQLite"))


@given(st.text())
def test_a_term_contains_no_query_syntax(text: str) -> None:
    for term in terms(text):
        assert re.fullmatch(r"\w{1,128}", term)
        assert "'" not in term
        assert '"' not in term


@given(st.text())
def test_each_term_has_its_position(text: str) -> None:
    for word in term_spans(text):
        assert 0 <= word.start < word.end <= len(text)
        assert not text[word.start : word.end].isspace()


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1))
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_a_megabyte_without_a_space_is_split_in_bounded_time() -> None:
    assert len(terms("日本" * 250_000)) == 500_000
    assert terms("x" * 1_000_000) == ["x" * 64]
