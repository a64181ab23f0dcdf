"""The saving of observations, from any source."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.memory import Candidate, Memory
from lamplighter.domain.relate.reconcile import Effect, ReconcileOutcome, decide
from lamplighter.domain.services.service import Services
from lamplighter.repository import writing
from lamplighter.repository.writes import around, store
from lamplighter.usecases import instrumentation
from lamplighter.usecases.context import Context


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The outcome of a candidate: the memory that states it now, and the reason."""

    outcome: ReconcileOutcome
    memory: Memory
    reason: str
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningContext(Context):
    """The context of ingesting candidates; `services` are the declared services.

    Without `fading`, decay is postponed, because the clock is not reliable. `looked` are the
    services named in the session's own tool uses.
    """

    active: Configuration = field(default_factory=Configuration)
    services: Services = field(default_factory=Services)
    fading: bool = True
    looked: set[str] = field(default_factory=set)


@instrumentation.trace_write("memory.remember")
async def remember(
    here: LearningContext, candidate: Candidate, *, closing: bool = False, now: datetime
) -> LearningResult:
    """Reinforce an existing memory or learn a new one, and weaken memories that it contradicts.

    The memory, its links, reviews, history and changes are one transaction. A candidate of a
    closing report changes nothing if the session's markers already state it or something related.
    Raises Invalid for inadmissible content.
    """
    candidate = admit_candidate(candidate, here.redact)
    async with writing(here.db, short=True):
        near = await around(
            here.db,
            candidate,
            here.active.lexicon,
            services=here.services.names,
            checked=here.looked,
            echo=here.active.echo,
        )
        near = replace(near, history=replace(near.history, closing=closing))
        decision, intents = decide(near, now=now, fading=here.fading)
        new = await store(here.db, intents, now=now)
        memory = decision.target or new[0]
        return LearningResult(decision.outcome, memory, decision.reason, decision.effects)
