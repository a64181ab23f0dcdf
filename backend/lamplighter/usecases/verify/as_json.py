"""Results of verification as JSON, the same in every interface."""

from typing import Any, Final

from lamplighter.formats.serialize import Writer, format_moment
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
        "verified_at": format_moment(result.memory.verified_at),
        "confidence": result.memory.confidence,
    }


outcome_as_json: Final = Writer[Verification]()
"""Return the stored outcome of a memory as JSON."""
