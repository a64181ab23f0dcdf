"""Recent check results as a source: whether a service is healthy, and its response status."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.sessions.marker_results import CheckResult
from lamplighter.domain.verify.claims import ClaimKind, TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.repository import Database
from lamplighter.repository.services import checks

RECENT: Final = timedelta(hours=2)
"""The age above which a check result says nothing about the present."""


async def answer(
    db: Database, claims: Sequence[TextClaim], *, now: datetime
) -> dict[TextClaim, Answer]:
    """Answer claims about health and status from the last result of each check."""
    answers: dict[TextClaim, Answer] = {}
    for claim in claims:
        recent = [
            each
            for each in await checks.latest_of_service(db, claim.subject)
            if each.at is not None and now - each.at <= RECENT
        ]
        if recent:
            judge = _health if claim.kind is ClaimKind.HEALTH else _status
            if (answered := judge(claim, recent)) is not None:
                answers[claim] = answered
    return answers


def _health(claim: TextClaim, results: Sequence[CheckResult]) -> Answer | None:
    failing = [each for each in results if not each.ok]
    if failing:
        detail = f"{failing[0].name} of {failing[0].service} fails: {failing[0].detail}"
        return Answer(AnswerState.REFUTED, "check results", detail)
    names = ", ".join(each.name for each in results)
    return Answer(AnswerState.CONFIRMED, "check results", f"{names} of {claim.subject} pass")


def _status(claim: TextClaim, results: Sequence[CheckResult]) -> Answer | None:
    """Compare statuses; one matching check is enough, because others may expect another status."""
    answered = [each for each in results if each.status is not None]
    same = [each for each in answered if str(each.status) == claim.value]
    if same:
        detail = f"{same[0].name} of {same[0].service} answered {same[0].status}"
        return Answer(AnswerState.CONFIRMED, "check results", detail)
    if len(answered) == 1 and answered[0].ok:
        detail = f"{answered[0].name} of {answered[0].service} answered {answered[0].status}"
        return Answer(AnswerState.REFUTED, "check results", detail)
    return None
