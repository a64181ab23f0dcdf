"""How rounds are made: how often, and by which engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How rounds are made: how often (seconds), and by which engine.

    `engines` names that of a higher tier where it is another one.
    """

    interval: float = 3_600.0
    engine: str = "probe"
    engines: Mapping[int, str] = field(default_factory=dict)
    dry_run: bool = False

    def usual(self, tier: int) -> str:
        """Return what runs the sessions of a tier unless another engine is asked for."""
        return self.engines.get(tier, self.engine)
