"""Spellings are rewritten only if one search for all of them finds something."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.relate import text

REWRITES = (text._CONTRACTIONS, text._SPELLED, text._BOUNDS)
PATTERNS = [pattern for each in REWRITES for pattern, _ in each._rules]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.pattern[:30])
def test_the_search_for_all_spellings_finds_each(pattern: re.Pattern[str]) -> None:
    [rewrites] = [each for each in REWRITES if pattern in [rule for rule, _ in each._rules]]

    @settings(max_examples=20, database=None, derandomize=True)
    @given(st.from_regex(pattern, alphabet=st.characters(codec="ascii")))
    def check(spelled: str) -> None:
        assert rewrites._any.search(spelled)

    check()
