"""Stored text: one line, no control characters, and when two texts are equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.text import (
    abridge,
    clean_lines,
    comparison_key,
    content_hash,
    escape_terminal,
    head_and_tail,
    one_line,
    shorten,
    without_private,
)

ANY = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("  Takes 60s \n to start\t", "Takes 60s to start"),
        ("a\r\nb\u2028c\u2029d\x0be\x85f", "a b c d e f"),
        ("first\n### jellyfin\n- forged", "first ### jellyfin - forged"),
        ("pay \u202egnp.exe", "pay gnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("bell\x07 and \x1b[31mred", "bell and [31mred"),
        ("half \ud83d pair", "half pair"),
        ("नमस्\u200dते", "नमस्\u200dते"),
        ("Überlauf 👍🏽 日本語", "Überlauf 👍🏽 日本語"),
        ("\x00", ""),
    ],
)
def test_one_line_joins_lines_and_removes_invisible_characters(text: str, kept: str) -> None:
    assert one_line(text) == kept


@given(ANY)
def test_one_line_is_idempotent(text: str) -> None:
    kept = one_line(text)

    assert len(kept.splitlines()) <= 1
    assert one_line(kept) == kept
    assert kept.encode().decode() == kept


@given(ANY)
def test_clean_lines_returns_encodable_text(text: str) -> None:
    assert isinstance(clean_lines(text).encode(), bytes)


def test_clean_lines_preserves_line_breaks() -> None:
    assert clean_lines("\n# Title  \r\n\ttwo\u200b\n\nthree\n") == "# Title\n two\n\nthree"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Takes 60s to start", "takes  60S to start."),
        ("It's “slow”", 'it\u2019s "slow"'),
        ("start–stop", "start-stop!"),
        ("Straße", "STRASSE"),
    ],
)
def test_comparison_ignores_case_quotes_dashes_and_a_full_stop(left: str, right: str) -> None:
    assert comparison_key(left) == comparison_key(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Takes 60s to start", "Takes 600s to start"),
        ("is safe", "is not safe"),
        ("ends in .5", "ends in 5"),
    ],
)
def test_comparison_distinguishes_numbers_and_words(left: str, right: str) -> None:
    assert comparison_key(left) != comparison_key(right)


def test_the_content_hash_ignores_case_and_spacing_only() -> None:
    assert content_hash("Hello World") == content_hash(" hello   world\n")
    assert content_hash("Hello World") != content_hash("Hello World.")
    assert content_hash("hello world") == (
        "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Set up API with <private>sk-abc123</private>", "Set up API with [REDACTED]"),
        ("<PRIVATE>a\nb</Private> and <private>c</private>", "[REDACTED] and [REDACTED]"),
        ("never closed <private>all of this", "never closed [REDACTED]"),
        ("nothing private", "nothing private"),
    ],
)
def test_private_parts_are_replaced(text: str, kept: str) -> None:
    assert without_private(text) == kept


@pytest.mark.parametrize(
    ("text", "limit", "cut"), [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("", 4, "")]
)
def test_a_shortened_text_is_never_longer_than_its_limit(text: str, limit: int, cut: str) -> None:
    assert shorten(text, limit) == cut


def test_control_characters_are_escaped_for_a_terminal() -> None:
    assert escape_terminal("a\x1b[31mb\n日") == "a\\x1b[31mb\\n日"


@pytest.mark.parametrize(
    ("lines", "limit", "kept"),
    [
        ([], 10, []),
        (["one", "two"], 6, ["one", "two"]),
        (["aa", "bb", "cc", "dd", "ee"], 8, ["aa", "bb", "… 1 line left out …", "dd", "ee"]),
        (["a" * 90, "b"], 20, ["aaa … aaa", "b"]),
        (["0123456789" * 9], 20, ["012 … 789"]),
    ],
)
def test_head_and_tail_returns_the_first_and_last_lines(lines, limit, kept) -> None:
    assert head_and_tail(lines, limit) == kept


@given(st.lists(ANY, min_size=1), st.integers(10, 400))
def test_head_and_tail_is_within_the_limit(lines, limit) -> None:
    kept = head_and_tail(lines, limit)

    assert sum(map(len, kept)) <= limit + len("… 1,000,000 lines left out …")


def test_abridge_omits_the_middle_of_a_text() -> None:
    assert abridge("0123456789", 10) == "0123456789"
    assert abridge("0123456789abc", 9) == "012 … abc"
