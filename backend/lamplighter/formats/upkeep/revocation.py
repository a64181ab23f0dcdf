"""Revocations as JSON, the same in every interface."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.revoke.origin import TeachingOrigin
from lamplighter.domain.revoke.plan import RevocationPlan
from lamplighter.formats import serialize

MAX_LISTED: Final = 200
"""How many memories of each kind are listed; `counts` has all."""


def revocation(
    origin: TeachingOrigin, plan: RevocationPlan, derived: Sequence[Memory], act: int | None
) -> dict[str, Any]:
    """Return the effect of a revocation as JSON."""
    return {
        "origin": {"kind": origin.kind, "name": origin.name},
        "counts": counts(plan),
        "removed": [serialize.memory(each) for each in plan.removed[:MAX_LISTED]],
        "changed": [
            {"before": serialize.memory(before), "after": serialize.memory(after)}
            for before, after in plan.changed[:MAX_LISTED]
        ],
        "inherited": [
            {
                "replaces": each.replaces,
                "observation": each.memory.observation,
                "service": each.memory.service,
                "category": each.memory.category,
                "confidence": each.memory.confidence,
                "session_id": each.memory.session_id,
            }
            for each in plan.heirs[:MAX_LISTED]
        ],
        "decisions": [
            {"memory": serialize.memory(each.memory), "cause": each.cause, "version": each.version}
            for each in plan.decisions[:MAX_LISTED]
        ],
        "derived": [serialize.memory(each) for each in derived[:MAX_LISTED]],
        "act": act,
    }


def counts(plan: RevocationPlan) -> Mapping[str, int]:
    """Return how many memories and reports a revocation reverts."""
    return {
        "removed": len(plan.removed),
        "restored": len(plan.changed),
        "inherited": len(plan.heirs),
        "decisions": len(plan.decisions),
        **{f"steps_{name}": count for name, count in plan.counts.items()},
    }
