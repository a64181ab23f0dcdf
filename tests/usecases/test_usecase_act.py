"""Actions: a slot is reserved before, settled after, and reported in markers."""

from dataclasses import replace
from datetime import timedelta

import pytest
from acting import (
    FAILURE,
    HOUR,
    REDEPLOY,
    RESTART,
    SERVICES,
    SUCCESS,
    acted,
    marked,
    texts,
    used,
    uses,
)
from examples import NOON, SECRETIVE, SLOW_START, rows, session

from contexts import DEFAULTS, context
from lamplighter.domain.memory.memory import Category, Trust
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.session import Status
from lamplighter.repository import Database
from lamplighter.usecases.memory import curate
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import sessions
from lamplighter.usecases.sessions.sessions import SessionEnd


async def test_reserved_slot_counts_as_used(db: Database) -> None:
    by = await session(db, tier=3)

    use = await act.reserve(db, by, "Web", RESTART, now=NOON)

    assert (use.outcome, use.settled_at) == (UseOutcome.RESERVED, None)
    assert await used(db) == [1, 0]


@pytest.mark.parametrize(("ok", "outcome"), [(True, "success"), (False, "failure")])
async def test_settled_slot_counts_as_used_after_success_and_failure(
    db: Database, ok: bool, outcome: str
) -> None:
    use = await acted(db, await session(db, tier=3), ok=ok)

    assert (use.outcome, use.text, use.settled_at) == (outcome, "done", NOON)
    assert await used(db) == [1, 0]


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        (4 * HOUR - timedelta(microseconds=1), UseOutcome.REFUSED),
        (4 * HOUR, UseOutcome.RESERVED),
        (-HOUR, UseOutcome.REFUSED),
    ],
)
async def test_third_restart_is_refused_until_four_hours_after_the_first(
    db: Database, later: timedelta, outcome: UseOutcome
) -> None:
    by = await session(db, tier=3)
    await acted(db, by)
    await acted(db, by, now=NOON + HOUR)

    assert (await act.reserve(db, by, "Web", RESTART, now=NOON + later)).outcome is outcome


@pytest.mark.parametrize(
    ("later", "outcome"),
    [(24 * HOUR - timedelta(microseconds=1), UseOutcome.REFUSED), (24 * HOUR, UseOutcome.RESERVED)],
)
async def test_second_redeployment_is_refused_for_a_day(
    db: Database, later: timedelta, outcome: UseOutcome
) -> None:
    by = await session(db, tier=3)
    first = await act.reserve(db, by, "Web", REDEPLOY, now=NOON)
    await act.settle(db, first, UseOutcome.SUCCESS, text="done", now=NOON)

    assert (await act.reserve(db, by, "Web", REDEPLOY, now=NOON + later)).outcome is outcome


@pytest.mark.parametrize(
    ("found", "marker", "outcome", "text", "event"),
    [
        ("success", SUCCESS, "success", "Healthy again", "success): Healthy again"),
        ("success", FAILURE, "failure", "Still down", "failure): Still down"),
        ("failure", FAILURE, "failure", "Still down", "failure): Still down"),
        ("failure", SUCCESS, "failure", "done", "success, not confirmed): Healthy again"),
        ("unconfirmed", SUCCESS, "unconfirmed", "done", "success, not confirmed): Healthy again"),
        ("unconfirmed", FAILURE, "failure", "Still down", "failure): Still down"),
    ],
)
async def test_marker_annotates_a_use_without_confirming_it(
    db: Database, found: str, marker: str, outcome: str, text: str, event: str
) -> None:
    by = await session(db, tier=3)
    await acted(db, by, outcome=UseOutcome(found))

    await marked(db, by, marker)

    [use] = await uses(db)
    assert (use.outcome, use.text, use.marked) == (outcome, text, True)
    assert await used(db) == [1, 0]
    assert [row["text"] for row in await rows(db, "events")] == [f"Restart ({event}"]


async def test_marker_reports_one_use(db: Database) -> None:
    by = await session(db, tier=3)
    await acted(db, by)

    await marked(db, by, SUCCESS, FAILURE)

    assert [(use.outcome, use.name) for use in await uses(db)] == [("success", "restart")]
    assert await texts(db, "warning") == ["Restart (claimed failure): Still down"]


async def test_marker_of_a_second_attempt_reports_the_same_use(db: Database) -> None:
    by = await session(db, tier=3)
    await said(db, "The first restart fails and the second one works", "remediation", "Web")
    first = await acted(db, by, ok=False)
    await marked(db, by, FAILURE)

    second = await act.reserve(db, by, "Web", RESTART, again=first.id, now=NOON)
    await act.settle(db, second, UseOutcome.SUCCESS, text="done", now=NOON)
    await marked(db, by, SUCCESS)

    [use] = await uses(db)
    assert (use.outcome, use.attempts, use.text) == ("success", 2, "Healthy again")


async def test_marker_during_a_running_action_frees_no_slot(db: Database) -> None:
    by = await session(db, tier=3)
    use = await act.reserve(db, by, "Web", RESTART, now=NOON)

    await marked(db, by, SUCCESS)
    other = await act.reserve(db, by, "Web", REDEPLOY, now=NOON)
    settled = await act.settle(db, use, UseOutcome.FAILURE, text="exit 1", now=NOON)

    assert (other.outcome, other.text) == ("refused", "another action on this service is running")
    assert (settled.outcome, settled.text) == ("failure", "exit 1")
    assert await used(db) == [1, 0]


@pytest.mark.parametrize("tier", [1, 2, 3])
async def test_marker_without_an_action_uses_no_slot(db: Database, tier: int) -> None:
    by = await session(db, tier=tier)

    await marked(db, by, *(f"[COOLDOWN:restart:web] failure - {number}" for number in range(5)))

    assert (await uses(db), await used(db)) == ([], [0, 0])
    assert await texts(db, "warning") == [
        f"Restart (claimed failure): {number}" for number in range(5)
    ]
    assert (await act.reserve(db, by, "Web", RESTART, now=NOON)).outcome is UseOutcome.RESERVED


async def test_marker_annotates_a_use_of_its_chain(db: Database) -> None:
    one, other = await session(db, tier=2), await session(db, tier=3)
    two = await session(db, tier=3, parent_id=one.id)
    await acted(db, one)

    await marked(db, other, FAILURE)
    await marked(db, two, SUCCESS)

    [use] = await uses(db)
    assert (use.outcome, use.text, use.marked) == ("success", "Healthy again", True)
    assert await texts(db, "warning") == ["Restart (claimed failure): Still down"]


async def test_secrets_in_a_cooldown_marker_are_masked(db: Database) -> None:
    by = await session(db, tier=3)
    await acted(db, by)
    words = "[COOLDOWN:restart:web] success - with hunter2-hunter2"

    await marked(db, by, words, redact=SECRETIVE)

    [use] = await uses(db)
    assert "hunter2" not in use.text + str(await rows(db, "changes"))


async def test_spellings_of_a_service_share_one_cooldown(db: Database) -> None:
    by = await session(db, tier=3)
    for name in ("web", "WEB"):
        await acted(db, by, service=name)

    refused = await act.reserve(db, by, "Web", RESTART, now=NOON)
    name, cleared = await act.reset_cooldowns(db, "wEB", None, services=SERVICES, now=NOON)

    assert refused.outcome is UseOutcome.REFUSED
    assert (name, cleared) == ("Web", 2)
    assert await used(db) == [0, 0]


async def test_reserved_use_of_an_interrupted_session_is_abandoned_and_counts(db: Database) -> None:
    by = await session(db, tier=3)
    await act.reserve(db, by, "Web", RESTART, now=NOON)

    ending = SessionEnd(status=Status.INTERRUPTED)
    await sessions.finish(context(db, NOON + HOUR), DEFAULTS, by, ending)

    [use] = await uses(db)
    assert (use.outcome, use.settled_at) == ("abandoned", NOON + HOUR)
    assert use.text == "its session ended before the result was known"
    assert await used(db) == [1, 0]


async def test_use_is_not_settled_by_the_end_or_marker_of_another_session(
    db: Database,
) -> None:
    one, two = await session(db, tier=3), await session(db, tier=3)
    await act.reserve(db, one, "Web", RESTART, now=NOON)

    await marked(db, two, SUCCESS)
    await sessions.finish(context(db), DEFAULTS, two, SessionEnd(status=Status.FAILED))

    assert [(use.session_id, use.outcome) for use in await uses(db)] == [(one.id, "reserved")]


async def test_first_attempt_is_known_to_fail_from_earlier_uses(db: Database) -> None:
    now = NOON
    for _ in range(2):
        by = await session(db, tier=3)
        await acted(db, by, ok=False, now=now)
        await acted(db, by, ok=True, now=now)
        now += 5 * HOUR
    by = await session(db, tier=3)
    first = await acted(db, by, ok=False, now=now)

    second = await act.reserve(db, by, "Web", RESTART, again=first.id, now=now)

    assert (second.id, second.attempts, second.outcome) == (first.id, 2, "reserved")


async def said(db: Database, observation: str, category: str, service: str | None) -> None:
    """Store a person's observation about a service."""
    candidate = replace(
        SLOW_START,
        observation=observation,
        category=Category(category),
        service=service,
        tier=0,
        trust=Trust.TRUSTED,
    )
    await curate.create(context(db), candidate)


@pytest.mark.parametrize(
    ("observation", "category", "service", "known"),
    [
        ("The first restart fails and the second one works", "remediation", "Web", True),
        ("The first restart usually hangs", "behavior", "Web", True),
        ("The first restart fails", "timing", "Web", False),
        ("The first restart fails", "remediation", "other", False),
        ("The first restart fails", "remediation", None, False),
        ("A restart helps", "remediation", "Web", False),
    ],
)
async def test_first_attempt_is_known_to_fail_from_a_memory_of_a_person(
    db: Database, observation: str, category: str, service: str | None, known: bool
) -> None:
    by = await session(db, tier=3)
    await said(db, observation, category, service)
    first = await acted(db, by, ok=False)

    second = await act.reserve(db, by, "Web", RESTART, again=first.id, now=NOON)

    assert (second.id == first.id) is known


async def test_memory_of_a_session_permits_no_second_attempt(db: Database) -> None:
    by = await session(db, tier=3)
    for speaker in (await session(db), by):
        await marked(db, speaker, "[MEMORY:remediation:web] The first restart fails")
    first = await acted(db, by, ok=False)

    second = await act.reserve(db, by, "Web", RESTART, again=first.id, now=NOON)

    assert (second.id, second.attempts) == (2, 1)


async def test_second_attempt_after_the_pair_window_is_a_new_use(db: Database) -> None:
    by = await session(db, tier=3)
    await said(db, "The first restart fails", "remediation", "Web")
    first = await acted(db, by, ok=False)

    second = await act.reserve(
        db, by, "Web", RESTART, again=first.id, now=NOON + act.PAIR_WINDOW + timedelta(seconds=1)
    )

    assert (second.id, second.attempts) == (2, 1)


async def test_dry_run_reports_a_cooldown_refusal(db: Database) -> None:
    by = await session(db, tier=3)
    for _ in range(2):
        await acted(db, by)

    use = await act.record_dry_run(db, by, "Web", RESTART, "would run restart of Web", now=NOON)

    refused = "used 2 of 2 times in 4 h; next use at 16:00 UTC"
    assert (use.outcome, use.text) == ("would", f"restart would be refused: {refused}")


async def test_second_attempt_after_a_cooldown_reset_is_a_new_use(db: Database) -> None:
    by = await session(db, tier=3)
    await marked(db, by, "[MEMORY:remediation:web] The first restart fails")
    first = await acted(db, by, ok=False)
    await act.reset_cooldowns(db, "web", None, services=SERVICES, now=NOON)

    second = await act.reserve(db, by, "Web", RESTART, again=first.id, now=NOON)

    assert (second.id, second.attempts) == (2, 1)
    assert replace(first, id=2) != second
