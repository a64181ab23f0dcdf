"""The active configuration: the values that a process has read from settings and files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta

from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.clients.tool_hooks import Hooks
from lamplighter.domain.limits import DEFAULT_BUDGET, MAX_TIER
from lamplighter.domain.memory.decay import LIFETIMES, Lifetimes
from lamplighter.domain.relate import Lexicon, builtin_lexicon
from lamplighter.domain.relate.reconcile import EchoPolicy
from lamplighter.domain.services.cooldown import RESET_AFTER
from lamplighter.domain.sessions.cost import MAX_TURNS, SpendingCaps
from lamplighter.domain.sessions.session import ProfileLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The active values and the default of each.

    `tier_engines` and `models` are by tier; a tier without an engine uses `engine`.
    `trash_retention` None stores deleted memories until a person empties the trash; `flap_limit` 0
    is no limit.
    """

    interval: float = 3_600.0
    dry_run: bool = False
    engine: str = "probe"
    tier_engines: Mapping[int, str] = field(default_factory=dict)
    models: Mapping[int, str] = field(default_factory=dict)
    max_tier: int = MAX_TIER
    budget: int = DEFAULT_BUDGET
    caps: SpendingCaps = field(default_factory=SpendingCaps)
    max_turns: int = MAX_TURNS
    max_markers: int = 2_000
    session_seconds: float = 900.0
    idle_seconds: float = 300.0
    shell_tiers: tuple[int, ...] = ()
    approval_seconds: float = 300.0
    max_parked: int = 5
    flap_limit: int = 3
    cooldown_reset: timedelta = RESET_AFTER
    webhook_token: str = ""
    webhook_tier: int = 1
    lexicon: Lexicon = field(default_factory=builtin_lexicon)
    echo: EchoPolicy = EchoPolicy.COUNT
    duplicate_window: timedelta = timedelta(minutes=15)
    trash_retention: timedelta | None = timedelta(days=30)
    transcript_retention: timedelta | None = timedelta(days=31)
    lifetimes: Lifetimes = field(default_factory=lambda: dict(LIFETIMES))
    profile: ProfileLimits = field(default_factory=ProfileLimits)
    hooks: Hooks = field(default_factory=Hooks)
    agents: tuple[Agent, ...] = ()
    organize_models: tuple[str, ...] = ()
    status_services: tuple[tuple[str, str], ...] = ()
    """The services on the public status page, with their display names."""

    def adopt(self, other: "Configuration") -> None:
        """Copy the values of another configuration into this object, after settings changed.

        All holders of this object see the new values. Nothing else changes it.
        """
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(other, each.name))

    def engine_of(self, tier: int) -> str:
        """Return the engine for the sessions of a tier unless a request names another."""
        return self.tier_engines.get(tier, self.engine)
