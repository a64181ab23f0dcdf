"""Results of verification as JSON, the same in every interface."""

from typing import Any

from lamplighter.formats.serialize import format_moment
from lamplighter.repository.verify.verifications import Verification
from lamplighter.usecases.verify.verify import VerificationResult


def result_as_json(result: VerificationResult) -> dict[str, Any]:
    """Return the outcome for one memory."""
    verdict = result.verdict
    return {
        "memory_id": result.memory.id,
        "observation": result.memory.observation,
        "state": verdict.state.value,
        "changed": result.changed,
        "skipped": result.skipped,
        "evidence": [each.as_json() for each in verdict.findings],
        "untested": list(verdict.untested),
        "reviews": list(result.reviews),
        "verified_at": _moment(result.memory.verified_at),
        "confidence": result.memory.confidence,
    }


def outcome_as_json(outcome: Verification) -> dict[str, Any]:
    """Return the stored outcome of a memory."""
    return {
        "memory_id": outcome.memory_id,
        "state": outcome.state.value,
        "version": outcome.version,
        "evidence": list(outcome.evidence),
        "untested": list(outcome.untested),
        "checked_at": _moment(outcome.checked_at),
        "marked_at": _moment(outcome.marked_at),
        "mark": outcome.mark,
    }


def _moment(at: Any) -> str | None:
    return None if at is None else format_moment(at)
