"""The passage of a long text that is included for a query."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.clients.agent_block import (
    CONTENT_CHARS,
    CUT,
    IncludedMemory,
    render_line,
    shorten_content,
)
from lamplighter.domain.memory.memory import Category, Memory, MemoryId
from lamplighter.domain.search.ranking import find_excerpt, render_excerpt
from lamplighter.domain.search.search import SearchMethod
from lamplighter.domain.search.terms import terms

NOON = datetime(2026, 1, 1, tzinfo=UTC)
FILL = "lorem ipsum " * 60
WORDS = st.lists(
    st.sampled_from(["disk", "full", "restart", "slow", "of", "日本", "a"]), max_size=300
)


def test_a_short_text_is_returned_whole() -> None:
    assert find_excerpt("Disks fill", terms("disk"), 300) == (0, 10)
    assert shorten_content("a" * CONTENT_CHARS, terms("b")) == "a" * CONTENT_CHARS


def test_the_beginning_is_returned_unless_another_part_matches_more_words_123() -> None:
    told = f"Memory {FILL}"

    assert shorten_content(told, terms("memory")) == told[:CONTENT_CHARS] + CUT
    assert shorten_content(told, terms("nothing")) == told[:CONTENT_CHARS] + CUT
    assert shorten_content(f"{told} memory", terms("memory")) == told[:CONTENT_CHARS] + CUT


def test_the_part_with_more_distinct_words_is_returned() -> None:
    text = f"The disk, the disk and the disk. {FILL} Restart it when the disk is full. {FILL}"

    told = shorten_content(text, terms("restart disk full"))

    assert told.startswith(CUT)
    assert told.endswith(CUT)
    assert len(told) == CONTENT_CHARS + 2 * len(CUT)
    assert "Restart it when the disk is full." in told


def test_the_end_of_a_text_is_returned_in_full_length() -> None:
    text = f"{FILL} ends with thumbnails"

    assert shorten_content(text, terms("thumbnails")) == CUT + text[-CONTENT_CHARS:]


@given(WORDS, st.lists(st.sampled_from(["disk", "slow", "日本"]), max_size=3), st.integers(5, 120))
def test_no_other_excerpt_contains_more_terms(
    words: list[str], asked: list[str], chars: int
) -> None:
    text, looked_for = " ".join(words), terms(" ".join(asked))

    start, end = find_excerpt(text, looked_for, chars)

    assert 0 <= start <= end <= len(text)
    assert end - start == min(chars, len(text))
    told = len(held(text[start:end], looked_for))
    assert told >= len(held(text[:chars], looked_for))
    assert len(render_excerpt(text, looked_for, chars)) == min(chars, len(text))


def held(text: str, looked_for: list[str]) -> set[str]:
    return {each for each in looked_for if each in terms(text)}


@pytest.mark.parametrize("text", ["disk " * 12_000, "disk" * 15_000, "日本" * 30_000])
def test_a_text_that_repeats_a_term_is_excerpted_in_bounded_time(text: str) -> None:
    """Trying all continuations from each place would never end here."""
    assert len(render_excerpt(text, terms("disk 日本"), 300)) == 300


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("", "- [decision] Use WAL. It is fast"),
        ("Storage", "- [decision] Storage: Use WAL. It is fast"),
        ("Use WAL.", "- [decision] Use WAL. It is fast"),
        ("Use WA…", "- [decision] Use WAL. It is fast"),
    ],
)
def test_a_title_that_starts_the_text_is_not_repeated(title: str, expected: str) -> None:
    words = "Use WAL. It is fast"
    memory = Memory(
        id=MemoryId(1),
        category=Category.DECISION,
        observation=words,
        title=title,
        service=None,
        confidence=0.7,
        active=True,
        tier=0,
        session_id=None,
        created_at=NOON,
        updated_at=NOON,
    )

    assert render_line(IncludedMemory(memory, SearchMethod.WORDS, 1.0, words)) == expected
