"""What taking in a session's lines needs, and what it brings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lamplighter.domain.admit import Redact
from lamplighter.domain.reconcile import Echo
from lamplighter.domain.relate import Lexicon, built_in
from lamplighter.domain.session import MAX_TIER, Session
from lamplighter.domain.transcript import Finished, Spent
from lamplighter.repository import Database
from lamplighter.usecases.hooks import Hooked
from lamplighter.usecases.remember import Manner

MAX_MARKERS: Final = 5_000


@dataclass(slots=True)
class Taken:
    """What some lines brought: counts for the session, what it spent, and whether it is done."""

    learned: int = 0
    reinforced: int = 0
    events: int = 0
    ignored: int = 0
    spent: Spent | None = None
    finished: Finished | None = None
    outcome: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ingest:
    """What taking in a session's lines needs besides the lines.

    `tool` is the one by which a session says something, where it is not a marker.
    """

    db: Database
    session: Session
    redact: Redact
    known: Sequence[str] = ()
    max_markers: int = MAX_MARKERS
    max_tier: int = MAX_TIER
    fading: bool = True
    lexicon: Lexicon = field(default_factory=built_in)
    echo: Echo = Echo.COUNT
    looked: set[str] = field(default_factory=set)
    tool: str = ""
    hooked: Hooked = field(default_factory=Hooked)

    @property
    def manner(self) -> Manner:
        """How what this session learns is taken in."""
        return Manner(
            redact=self.redact,
            known=self.known,
            fading=self.fading,
            lexicon=self.lexicon,
            echo=self.echo,
            looked=frozenset(self.looked),
        )

    def uses(self, given: object) -> None:
        """Note which services the session's own tool use names: it looks at them itself."""
        said = str(given)
        for name in self.known:
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said):
                self.looked.add(name)
