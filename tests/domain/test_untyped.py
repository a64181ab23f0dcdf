"""A chat turn without a type is an episode; a key or a type makes it knowledge."""

from dataclasses import replace

from contexts import NOON
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    MemoryKind,
    Source,
    new_memory,
)

TURN = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="We looked at the logs",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
)


def test_only_a_turn_without_type_and_key_is_an_episode() -> None:
    untyped = replace(TURN, typed=False)
    assert new_memory(untyped, now=NOON).kind is MemoryKind.EPISODIC
    assert new_memory(TURN, now=NOON).kind is MemoryKind.PROCEDURAL
    keyed = replace(untyped, topic_key="logs/place")
    assert new_memory(keyed, now=NOON).kind is MemoryKind.PROCEDURAL
