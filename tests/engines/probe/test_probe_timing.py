"""How long a service takes to become healthy: from memories, and measured."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.service import Action, ActionKind, Service
from lamplighter.engines.probe import facts
from lamplighter.engines.probe.facts import DurationClaim, MemoryFact, RoundFacts

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RESTART, REDEPLOYMENT = ActionKind.RESTART, ActionKind.REDEPLOYMENT
ACTION = Action(name="restart", kind=RESTART, argv=("true",))
JELLYFIN = Service(name="Jelly_fin")
SLOW_START = "Takes 60s to start after restart"


def held(observation: str, **more) -> MemoryFact:
    given = {
        "id": 1,
        "category": "timing",
        "service": "jelly-fin",
        "confidence": 0.7,
        "updated_at": NOON,
    }
    return MemoryFact(observation=observation, **(given | more))


def claimed(*memories: MemoryFact) -> float | None:
    found = facts.startup_claim(JELLYFIN, RoundFacts(now=NOON, memories=memories))
    return found.seconds if found else None


@pytest.mark.parametrize(
    ("observation", "seconds"),
    [
        (SLOW_START, 60),
        ("Takes about 2 minutes to be healthy after a restart", 120),
        ("Needs 1.5 min to come up", 90),
        ("Restart takes 45 seconds", 45),
        ("Ready after 500 ms", 0.5),
        ("Boots in 250 milliseconds", 0.25),
        ("Redeployment takes 90 secs, a restart 10 s", 90),
        ("Takes 1 h to start", 3600),
        ("takes 30S to START", 30),
        ("Takes about 12 s to be healthy after a redeployment", 12),
        ("Takes 60s to answer a query", None),
        ("Takes long to start", None),
        ("Takes 0 s to start", None),
        ("Takes 3 hours to start", None),
        ("Takes 1,500 ms to start", 1.5),
        ("Takes 1 min 30 s to start", 90),
        ("Takes 2 minutes and 5 seconds to start", 125),
        ("After 2 restarts within 10 min it takes 40 s to start", 40),
        ("Health check times out after 1 s while starting up", None),
        ("Do not restart within 5 m of boot", None),
        ("Starts on port 8096", None),
        ("Starts 3 services", None),
        ("", None),
    ],
)
def test_the_start_time_is_read_from_a_memory(observation: str, seconds: float | None) -> None:
    assert claimed(held(observation)) == seconds


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, 60),
        ({"service": "JELLY FIN"}, 60),
        ({"category": "behavior"}, None),
        ({"category": "remediation"}, None),
        ({"service": "caddy"}, None),
        ({"service": None}, None),
    ],
)
def test_only_a_timing_memory_of_the_service_is_used(
    more: dict[str, str | None], seconds: float | None
) -> None:
    assert claimed(held(SLOW_START, **more)) == seconds


@pytest.mark.parametrize(
    ("other", "seconds"),
    [
        ({"confidence": 0.6}, 60),
        ({"confidence": 0.8}, 20),
        ({"updated_at": NOON + timedelta(days=1)}, 20),
        ({"updated_at": NOON - timedelta(days=1)}, 60),
    ],
)
def test_the_most_confident_then_newest_memory_is_used(other: dict, seconds: float) -> None:
    assert claimed(held(SLOW_START), held("Takes 20s to start", id=2, **other)) == seconds
    assert claimed(held("Takes 20s to start", id=2, **other), held(SLOW_START)) == seconds


@pytest.mark.parametrize(
    ("seconds", "allowed"),
    [(None, 60), (60, 120), (20, 60), (0.5, 60), (180, 360), (181, 360), (3600, 360)],
)
def test_a_memory_makes_the_wait_longer_but_never_shorter(
    seconds: float | None, allowed: float
) -> None:
    known = None if seconds is None else DurationClaim(seconds, held(SLOW_START))

    assert facts.startup_timeout(known, ACTION) == allowed


def uses(*measured: float | None, action: ActionKind = RESTART) -> list[CooldownUse]:
    """Return earlier uses, newest first, by the time until the service was healthy."""
    return [
        CooldownUse(
            id=number,
            service="Jelly_fin",
            action=action,
            outcome=UseOutcome.SUCCESS,
            created_at=NOON,
            healthy_after=seconds,
        )
        for number, seconds in enumerate(measured, 1)
    ]


@pytest.mark.parametrize(
    ("took", "agrees"),
    [(60, True), (75, True), (76, True), (29, True), (28.9, False), (76.1, False), (2, False)],
)
def test_a_remembered_time_is_repeated_verbatim_while_it_is_correct(
    took: float, agrees: bool
) -> None:
    known = DurationClaim(60, held(SLOW_START))

    assert facts.confirms_claim(took, 60) is agrees
    assert facts.startup_lesson(took, known) == (SLOW_START if agrees else None)


def test_a_time_learned_from_outcomes_is_not_repeated() -> None:
    known = DurationClaim(6, held("Takes about 6 s to be healthy after a restart (4-9 s)"))

    assert facts.startup_claim(JELLYFIN, RoundFacts(now=NOON, memories=[known.memory])) == known
    assert facts.startup_lesson(6.0, known) is None
