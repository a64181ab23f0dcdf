"""Advice: the actions of a service that repair its present failure, by recorded outcomes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lamplighter.domain.learning.facts import FactKind, LearnedFact, may_guide, render
from lamplighter.domain.learning.outcome import ActionCounts, OutcomeRecord, count_outcomes
from lamplighter.domain.learning.signature import Signature, failure_key
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.service import Action, ActionKind, Service


@dataclass(frozen=True, slots=True)
class ActionEvidence:
    """The memory with the outcome of an action."""

    action: str
    memory_id: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.sentence} (memory {self.memory_id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairAdvice:
    """The action that is known to repair a failure, and those that are known not to."""

    fix: ActionEvidence | None = None
    useless: Mapping[str, ActionEvidence] = field(default_factory=dict)

    def leaves(self, service: Service) -> list[Action]:
        """Return the declared actions that are not known to be useless."""
        return [each for each in service.actions if each.name not in self.useless]


def configuration_key(service: Service | None) -> str:
    """Return a short hash of the relevant parts of a service's declaration."""
    if service is None:
        return ""
    parts = (service.checks, service.actions, service.depends_on)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def circumstances_of(configured: str, deployed: str | None, kind: ActionKind | None) -> str:
    """Return the circumstances of an outcome: the configuration, and the last deployment.

    The outcome of a deployment does not depend on the one before it.
    """
    if deployed is None or kind is ActionKind.REDEPLOYMENT:
        return configured
    return f"{configured}+{deployed}"


def advise(
    service: Service,
    failing: Sequence[Signature],
    records: Sequence[OutcomeRecord],
    facts: Iterable[tuple[LearnedFact, Memory | None]],
    *,
    deployed: str | None,
    configured: str | None = None,
) -> RepairAdvice:
    """Return the evidence for each declared action against the current failure.

    Only active and unedited memories count; they are quoted with the counts of `records`, which are
    those of the service, oldest first. The least invasive action comes first. `configured` is the
    key of an earlier declaration of the service.
    """
    keys = {failure_key(failing)}
    key = configured or configuration_key(service)
    guides: dict[str, LearnedFact] = {}
    for fact, memory in facts:
        if fact.kind is FactKind.REPAIR and fact.signature in keys and may_guide(fact, memory):
            guides.setdefault(fact.action, fact)
    fix: ActionEvidence | None = None
    useless: dict[str, ActionEvidence] = {}
    for action in sorted(service.actions, key=lambda each: list(ActionKind).index(each.kind)):
        guide = guides.get(action.name)
        if guide is None:
            continue
        own = [each for each in records if each.id > guide.counted_from]
        circumstances = circumstances_of(key, deployed, action.kind)
        counts: ActionCounts = count_outcomes(own, action.name, keys, circumstances)
        then = replace(guide, worked=counts.worked, tried=counts.tried, seconds=counts.seconds)
        evidence = ActionEvidence(action.name, guide.memory_id, render(then).sentence)
        if counts.useless:
            useless[action.name] = evidence
        elif fix is None and counts.helps:
            fix = evidence
    return RepairAdvice(fix=fix, useless=useless)
