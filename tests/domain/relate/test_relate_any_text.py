"""Relate never fails, is deterministic and takes a bounded time, for any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.relate import Relation, analyze, builtin_lexicon, relate
from lamplighter.domain.text import comparison_key
from thorough import examples

ANY = st.text(st.characters(exclude_categories=[]), max_size=200)
PIECES = (
    *"0 1 9 ² ٣ ④ ½ ⅷ 99999 , . : / - % ' \u202e \0 \ud800 \ufdfa * */5 >= <".split(),  # noqa: SIM905
    *"s sec m min h d w kb GiB mbit c am pm every times per twice a an half to or and".split(),  # noqa: SIM905
    *"not never without before after first then only otherwise when at least below un".split(),  # noqa: SIM905
    *"port status vm mon weekdays v1.2 10.0.0.1 /x http:// restart cache enabled disabled".split(),  # noqa: SIM905
)
WRITTEN = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(("", " "))).map("".join), max_size=30
).map("".join)
TEXT = ANY | WRITTEN

RANDOM = "".join(chr(97 + (7 * n * n + 3 * n) % 23) for n in range(60_000))
NASTY = [
    "1," * 20_000,
    "a-" * 20_000,
    "every " * 10_000,
    "0 " * 20_000,
    "1." * 20_000,
    "a." * 20_000,
    "a_" * 20_000,
    "/" * 60_000,
    "1 to " * 10_000,
    "a; " * 20_000,
    "otherwise " * 6_000,
    "first, " * 8_000,
    "1 and a half " * 5_000,
    "port " + "9" * 60_000,
    "٣" * 60_000,
    "²" * 60_000,
    "\ufdfa" * 60_000,
    "\0" * 60_000,
    "\ud800" * 60_000,
    "\u202e" * 60_000,
    RANDOM,
    " ".join(RANDOM[n : n + 6] for n in range(0, 60_000, 6)),
]


@given(TEXT, TEXT)
@settings(max_examples=examples(400), deadline=None)
def test_relate_never_fails_and_is_deterministic(one: str, two: str) -> None:
    found = relate(one, two, service="media-server")
    assert found == relate(one, two, service="media-server")
    assert found.reason
    assert 0 <= found.p <= 1


@given(TEXT)
@settings(max_examples=examples(200), deadline=None)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert relate(text, text).relation is Relation.SAME
    assert analyze(text, builtin_lexicon()) == analyze(text, builtin_lexicon())


@given(WRITTEN)
@settings(max_examples=examples(200), deadline=None)
def test_texts_with_equal_comparison_keys_are_the_same_in_both_directions(text: str) -> None:
    other = f" {text.upper().lower()} ."
    same = comparison_key(text) == comparison_key(other)
    for one, two in ((text, other), (other, text)):
        assert not same or relate(one, two).relation is Relation.SAME


@pytest.mark.timeout(60)  # minutes, were more of them read
@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:8]))
def test_a_hostile_text_is_compared_in_bounded_time(text: str) -> None:
    for other in (text + " x", NASTY[0], NASTY[3], NASTY[-1], "Takes 60s to start"):
        relate(text, other)
        relate(other, text)


def test_only_the_beginning_of_a_long_text_is_analyzed() -> None:
    long = "The cache is mounted on the array. " * 100
    assert analyze(long + "x" * 100_000, builtin_lexicon()) == analyze(long, builtin_lexicon())
