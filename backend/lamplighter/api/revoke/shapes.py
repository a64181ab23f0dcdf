"""Shapes of revocations."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Name, RowId, Seq
from lamplighter.api.memory.shapes import MemoryOut


class RevocationIn(Struct):
    """The origin to revoke: a session, an agent or a source; exactly one."""

    session: RowId | None = None
    agent: Name | None = None
    source: Name | None = None


class OriginOut(Struct):
    """The origin: the number of a session, the name of an agent, a source."""

    kind: Literal["session", "agent", "source"]
    name: str


class RestoredOut(Struct):
    """A memory, and its form without the origin."""

    before: MemoryOut
    after: MemoryOut


class InheritedOut(Struct):
    """A claim of a removed memory that another session reported later; it learned the claim."""

    replaces: int
    observation: str
    service: str | None
    category: str
    confidence: float
    session_id: int | None


class KeptOut(Struct):
    """A memory that an operator's decision keeps: the decision, and its version."""

    memory: MemoryOut
    cause: str
    version: int


class PromptEffectOut(Struct):
    """How the next prompt of a scope changes: added and removed lines, and a diff."""

    scope: str
    added: list[str]
    removed: list[str]
    text: str


class RevocationOut(Struct):
    """The effect of a revocation. `act` is its act in the journal; null in a preview.

    Each list has at most 200 memories; `counts` has the totals. `derived` are memories that the
    organizer wrote from removed memories and from others; they stay.
    """

    origin: OriginOut
    counts: dict[str, int]
    removed: list[MemoryOut]
    changed: list[RestoredOut]
    inherited: list[InheritedOut]
    decisions: list[KeptOut]
    derived: list[MemoryOut]
    effects: list[PromptEffectOut]
    act: int | None
    seq: Seq
