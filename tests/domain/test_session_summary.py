"""The summary of a supervisor session: its task, its outcome, and open problems."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.sessions.summary import summarize_session

ROUND = Session(
    id=7,
    tier=1,
    engine="claude",
    trigger=Trigger.SCHEDULED,
    status=Status.RUNNING,
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
)
ASKED = replace(ROUND, prompt="Find out why web is slow")
MARKED = "[MEMORY:timing:web] Takes 60s to start"


@pytest.mark.parametrize(
    ("session", "said", "uses", "status", "reason", "summary"),
    [
        (
            ASKED,
            ("Looking.", f"The disk is full.\n{MARKED}"),
            {"look": 2},
            Status.COMPLETED,
            "",
            'Session with 2 messages. Started: "Find out why web is slow"'
            ' — Ended: "The disk is full."',
        ),
        (
            ROUND,
            (f"All is well.\n{MARKED}", MARKED),
            {},
            Status.COMPLETED,
            "",
            'Session with 2 messages. Started: "tier 1, scheduled" — Ended: "All is well."',
        ),
        (
            ROUND,
            (),
            {"look": 3, "mem_search": 1},
            Status.TIMED_OUT,
            "It ran longer than 60 s.",
            'Session with 0 messages. Started: "tier 1, scheduled" — Tools: look 3, mem_search 1'
            " — Timed out: It ran longer than 60 s.",
        ),
        (
            ASKED,
            ("Find out why web is slow",),
            {},
            Status.FAILED,
            "",
            'Session with 1 message. Started: "Find out why web is slow" — Failed',
        ),
        (ROUND, (MARKED,), {}, Status.COMPLETED, "", None),
    ],
)
def test_a_summary_has_task_outcome_and_open_problems(
    session: Session,
    said: tuple[str, ...],
    uses: dict[str, int],
    status: Status,
    reason: str,
    summary: str | None,
) -> None:
    found = summarize_session(session, said, uses, status, reason)
    assert found == (summary or 'Session with 1 message. Started: "tier 1, scheduled" — Completed')
    assert "[MEMORY" not in found
