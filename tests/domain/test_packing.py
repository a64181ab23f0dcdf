"""Packing: whole texts up to the budget, and the origin on each line."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.clients.interactive_text import LEAST_CHARS, allocate_chars, origin
from lamplighter.domain.memory.memory import Category, Memory, MemoryId

SIZES = st.lists(st.integers(1, 50_000), max_size=60)


@pytest.mark.parametrize(
    ("sizes", "room", "got"),
    [
        ([100, 200], 300, [100, 200]),
        ([5_000, 100, 100], 1_200, [1_000, 100, 100]),
        ([2_000, 2_000], 1_000, [500, 500]),
        ([240, 240, 240], 500, [240, 240, 0]),
        ([9_000], 100, [0]),
        ([], 100, []),
    ],
)
def test_texts_are_included_in_full_while_they_fit(
    sizes: list[int], room: int, got: list[int]
) -> None:
    assert allocate_chars(sizes, room) == got


@given(SIZES, st.integers(0, 200_000))
def test_allocations_use_the_room_without_exceeding_it(sizes: list[int], room: int) -> None:
    got = allocate_chars(sizes, room)

    assert sum(got) <= room
    assert all(share <= size for share, size in zip(got, sizes, strict=True))
    assert sum(sizes) > room or got == sizes
    for share, size in zip(got, sizes, strict=True):
        assert share == 0 or share >= min(size, LEAST_CHARS)


def test_the_origin_of_a_line_is_its_date_and_speaker_or_session() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    memory = Memory(
        id=MemoryId(1),
        category=Category.LEARNING,
        service=None,
        observation="I bought a lamp",
        confidence=0.7,
        active=True,
        tier=0,
        session_id=7,
        created_at=noon,
        updated_at=noon,
        title="Ada Lund",
    )

    assert origin(memory, "talk-3") == "2026-01-01, Ada Lund"
    assert origin(replace(memory, title=""), "talk-3") == "2026-01-01, session talk-3"
