"""The inclusion details recorded while packing a prompt equal those of packing it again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lamplighter.domain.memory.memory import Category, Edit, Memory, MemoryId, Trust, apply_edit
from lamplighter.domain.sessions.context import (
    BlockPacker,
    MemoryBlock,
    ServiceLines,
    required_budget,
)
from lamplighter.domain.sessions.inclusion import InclusionProbe

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)


def memory(number: int, chars: int, cents: int, service: str | None) -> Memory:
    return Memory(
        id=MemoryId(number),
        category=Category.TIMING,
        service=service,
        observation="x" * chars,
        confidence=cents / 100,
        active=True,
        tier=1,
        session_id=None,
        created_at=NOON,
        updated_at=NOON + timedelta(minutes=number % 3),
        trust=Trust.UNVERIFIED if number % 4 == 0 else Trust.OBSERVED,
    )


def chosen(memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories in the order of priority."""
    return sorted(
        memories, key=lambda each: (-each.confidence, -each.updated_at.timestamp(), each.id)
    )


def packed(
    memories: Sequence[Memory], budget: int, prospect: InclusionProbe | None = None
) -> MemoryBlock:
    extra = prospect is not None and not prospect.eligible
    packing = BlockPacker(budget, total=len(memories) + extra)
    for each in chosen(memories):
        if prospect is not None:
            prospect.test(packing, each)
        packing.offer(each)
    if prospect is not None:
        prospect.test(packing)
    return packing.block()


def includes(block: MemoryBlock, memory: Memory) -> bool:
    return any(each.included and each.memory.id == memory.id for each in block.placements)


ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(30, 100), st.sampled_from(["jellyfin", "nas", None])),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=50)
@example([(2, 30, "nas")], 22, True)  # 1.0 is shorter than 0.99
@given(ROWS, st.integers(0, 160), st.booleans())
def test_an_inclusion_probe_equals_packing_again(
    rows: list[tuple[int, int, str | None]], budget: int, active: bool
) -> None:
    *others, held = [memory(number, *row) for number, row in enumerate(rows, 1)]
    held = replace(held, active=active)
    prospect = InclusionProbe(held, LATER)
    packed([*others, held] if active else others, budget, prospect)

    def again(confidence: float | None) -> bool:
        edit = Edit(active=None if active else True, confidence=confidence)
        changed = apply_edit(held, edit, now=LATER)
        return includes(packed([*others, changed], budget), held)

    higher = [cents / 100 for cents in range(100, round(held.confidence * 100), -1)]
    enough = list(takewhile(again, higher))
    assert prospect.fits is again(None)
    assert prospect.confidence == (enough[-1] if enough else None)


@given(ROWS)
def test_the_required_budget_has_room_for_all_higher_ranked_memories(
    rows: list[tuple[int, int, str | None]],
) -> None:
    memories = [memory(number, *row) for number, row in enumerate(rows, 1)]
    *ahead, last = chosen(memories)
    lines = [
        ServiceLines(
            service,
            len(own := [each for each in ahead if each.service == service]),
            sum(len(each.observation) + len(each.category) for each in own),
            sum(each.trust is Trust.UNVERIFIED for each in own),
        )
        for service in {each.service for each in ahead}
    ]

    budget = required_budget(lines, last, len(memories))

    assert all(includes(packed(memories, each), last) for each in (budget, budget + 1, 10 * budget))
    block = packed(memories, budget)
    assert budget - block.tokens <= len(
        memories
    )  # confidences of one decimal are a character short
