"""A second attempt if the first is known to fail, and the resulting memory."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from repaired import REDEPLOYMENT, memory, mended, mending, outcomes, started, used, useless

from contexts import context
from lamplighter.domain.memory.memory import Candidate, Category, Trust
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.engines.probe import http
from lamplighter.repository import Database
from lamplighter.usecases.memory import curate

FIRST_FAILS = "The first restart fails and the second one works"


@pytest.fixture(autouse=True)
async def loaded() -> None:
    await http.preload()


@pytest.fixture
def web(serve, tmp_path: Path):
    return partial(started, serve, tmp_path)


@pytest.mark.parametrize(
    "known",
    [
        {"memories": [memory(FIRST_FAILS, "remediation", trust="trusted")]},
        {"uses": {"web": [used(1, attempts=2), used(2, attempts=2)]}},
    ],
    ids=["a memory says so", "it was so twice"],
)
async def test_a_second_attempt_is_part_of_the_same_use(
    db: Database, tmp_path: Path, web, known: dict[str, Any]
) -> None:
    await remembered(db)
    service = await web("web", mending(tmp_path / "web", from_run=2))

    told = await mended(db, tmp_path, service, **known)

    assert [each["again"] for each in told.used("run_action")] == [None, 1]
    assert told.words[:2] == [
        "The first restart of web is known to fail. Running it again.",
        "[COOLDOWN:restart:web] success - Healthy again after N s, at the second attempt",
    ]
    assert f"[MEMORY:remediation:web] {FIRST_FAILS}" in told.words or "memories" in known
    assert await outcomes(db) == [("web", "success", 2)]


async def remembered(db: Database) -> None:
    """Let the gate also know that a first restart fails."""
    said = Candidate(
        category=Category.REMEDIATION,
        service="web",
        observation=FIRST_FAILS,
        tier=0,
        session_id=None,
        trust=Trust.TRUSTED,
    )
    await curate.create(context(db), said)


async def test_a_failed_second_attempt_is_followed_by_the_next_action(db, tmp_path, web) -> None:
    await remembered(db)
    service = await web("web", useless(), mending(tmp_path / "web", kind=REDEPLOYMENT))

    told = await mended(
        db, tmp_path, service, memories=[memory(FIRST_FAILS, "remediation", trust="trusted")]
    )

    assert [(each["action"], each["again"]) for each in told.used("run_action")] == [
        ("restart", None),
        ("restart", 1),
        ("redeployment", None),
    ]
    assert await outcomes(db) == [("web", "failure", 2), ("web", "success", 1)]


FAILED = replace(used(1), outcome=UseOutcome.FAILURE)


@pytest.mark.parametrize(
    ("before", "learned"),
    [
        ([FAILED, used(2), FAILED], True),
        ([FAILED, used(2, attempts=2)], True),
        ([FAILED], False),
        ([FAILED, used(2)], False),
        ([used(2), FAILED], False),
    ],
)
async def test_a_failing_first_attempt_is_learned_at_its_second_occurrence(
    db: Database, tmp_path: Path, web, before: list[CooldownUse], learned: bool
) -> None:
    service = await web("web", mending(tmp_path / "web"))

    told = await mended(db, tmp_path, service, uses={"web": before})

    assert (f"[MEMORY:remediation:web] {FIRST_FAILS}" in told.words) is learned
