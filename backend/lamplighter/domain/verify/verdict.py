"""Verdicts: the effect of the sources' answers on a memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory.memory import OPERATIONAL, Memory, Source, Trust, with_confidence
from lamplighter.domain.text import one_line, shorten
from lamplighter.domain.verify.claims import TextClaim, TextPart

VERIFIED_CONFIDENCE: Final = 0.9
"""The minimum confidence of verified knowledge (four-tier-memory-schema)."""
VERIFIED: Final = "verified"
"""The cause of a passed verification in a memory's history."""
EVIDENCE_CHARS: Final = 300


class AnswerState(StrEnum):
    """The answer of a source about a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class VerdictState(StrEnum):
    """The outcome for a memory.

    `partial`: all tested claims are confirmed, but the text states more.
    """

    PASSED = "passed"
    FAILED = "failed"
    PARTIAL = "partial"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a source about one claim: the source, and its evidence as text."""

    state: AnswerState
    source: str
    detail: str


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """A claim and its answer."""

    claim: TextClaim
    answer: Answer

    def as_json(self) -> dict[str, str]:
        """Return the claim, the answer of the source, and the evidence, as texts."""
        return {
            "claim": self.claim.name,
            "state": self.answer.state.value,
            "source": self.answer.source,
            "detail": self.answer.detail,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one memory; `untested` are the parts of its text without evidence."""

    state: VerdictState
    findings: tuple[ClaimFinding, ...] = ()
    untested: tuple[str, ...] = ()

    @property
    def evidence(self) -> str:
        """Return the confirmed evidence, on one line."""
        return "; ".join(
            evidence(each) for each in self.findings if each.answer.state is AnswerState.CONFIRMED
        )


NO_ANSWER: Final = Answer(AnswerState.UNKNOWN, "", "no source answers this")


def evidence(finding: ClaimFinding) -> str:
    """Return the evidence of a claim on one line: the source, and its result."""
    text = f"{finding.answer.source}: {finding.answer.detail}"
    return shorten(one_line(text), EVIDENCE_CHARS)


def evaluate(parts: Sequence[TextPart], answers: Mapping[TextClaim, Answer]) -> Verdict:
    """Judge a text by the answers to its claims.

    One refuted claim fails it. The text passes if each of its parts has a confirmed claim, no claim
    is unanswered, and no part states a figure that was not tested.
    """
    claims = dict.fromkeys(claim for part in parts for claim in part.claims)
    findings = tuple(ClaimFinding(each, answers.get(each, NO_ANSWER)) for each in claims)
    states = {each.claim: each.answer.state for each in findings}
    untested = tuple(
        part.text
        for part in parts
        if part.rest or any(states[each] is AnswerState.UNKNOWN for each in part.claims)
    )
    if AnswerState.REFUTED in states.values():
        return Verdict(VerdictState.FAILED, findings, untested)
    if AnswerState.CONFIRMED not in states.values():
        return Verdict(VerdictState.UNTESTED, findings, untested)
    state = VerdictState.PARTIAL if untested else VerdictState.PASSED
    return Verdict(state, findings, untested)


def mark_verified(memory: Memory, *, now: datetime) -> Memory:
    """Return a memory that passed verification.

    Knowledge is trusted, at least at 0.9, and distilled if it was extracted. The confidence of an
    operational memory changes by SPEC-0015 alone: its age restarts now.
    """
    refreshed = replace(
        memory, verified_at=now, updated_at=now, decayed_weeks=0, version=memory.version + 1
    )
    if memory.category in OPERATIONAL:
        return refreshed
    raised = with_confidence(refreshed, max(memory.confidence, VERIFIED_CONFIDENCE))
    distilled = memory.distilled or memory.source is Source.EXTRACTED
    return replace(raised, trust=Trust.TRUSTED, distilled=distilled)
