"""The fields of a learned fact in the text of a session."""

from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.learning.extract import agrees, extract_claim
from lamplighter.domain.learning.facts import FactKind, LearnedFact, render

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def fact(kind: FactKind, **fields: Any) -> LearnedFact:
    return render(LearnedFact(kind=kind, service="app", at=NOON, **fields))


REFUSED = fact(
    FactKind.REPAIR, action="restart", cause="connection refused", worked=3, tried=3, seconds=(6.0,)
)
EXPIRED = fact(FactKind.REPAIR, action="restart", cause="expired certificate", worked=0, tried=2)
CAUSE = fact(FactKind.CAUSE, cause="db", worked=3, tried=4)
START_UP = fact(FactKind.START_UP, action="restart", seconds=(5.0, 6.0, 7.0), worked=3, tried=3)


@pytest.mark.parametrize(
    ("text", "found", "same"),
    [
        (REFUSED.sentence, REFUSED, True),
        ("Restarting app fixes connection refused (healthy after 6 s)", REFUSED, True),
        ("A restart of app resolved the 'connection refused' error", REFUSED, True),
        ("Restart fixes connection refused at 127.0.0.1:8080", REFUSED, True),
        ("A restart helps against connection refused.", REFUSED, True),
        ("Restarting does not fix connection refused", REFUSED, False),
        ("Restart did not help against the expired certificate", EXPIRED, True),
        ("Restarting app fixed the expired certificate", EXPIRED, False),
        ("Restart fixes the expired certificate", REFUSED, None),
        ("Restart fixes connection refused from https://db.local/health", REFUSED, True),
        ("Restart fixes connection refused from redis", REFUSED, None),
        ("Restart does not fix connection refused by postgres", REFUSED, None),
        ("Rollback fixes connection refused", REFUSED, None),
        ("Fails whenever db is down; repair db first", CAUSE, True),
        ("app goes down when the db stops", CAUSE, True),
        ("Fails when cache fails; repair cache first", CAUSE, None),
        ("Takes 6 seconds to start after a restart", START_UP, True),
        ("app is healthy after about 0.5 min after a restart", START_UP, False),
        ("Takes 6 s to be healthy after a redeployment", START_UP, None),
    ],
)
def test_a_sentence_agrees_with_a_fact_with_the_same_fields(
    text: str, found: LearnedFact, *, same: bool | None
) -> None:
    claim = extract_claim("app", text)
    assert claim is not None
    assert agrees(claim, found) is same


@pytest.mark.parametrize(
    "text",
    [
        "Restart fixes 'connection refused' on web",
        "Restart fixes connection refused unless the disk is full",
        "Restart of db fixes connection refused",
        "Restart fixes it",
        "Fails when db fails at night",
        "Fails when db fails; repair cache first",
        "Listens on port 8080",
        "The restart is slow",
    ],
)
def test_a_sentence_with_more_content_agrees_with_no_fact(text: str) -> None:
    claim = extract_claim("app", text)
    facts = (REFUSED, EXPIRED, CAUSE, START_UP)
    assert claim is None or all(agrees(claim, each) is None for each in facts)
