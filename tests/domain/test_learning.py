"""Learning: which failures are the same, and what several outcomes show."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.learning.facts import FactKind, LearnedFact, render
from lamplighter.domain.learning.outcome import (
    ActionCounts,
    ActionResult,
    beta_interval,
    fails_on,
    result_of,
    robust_interval,
)
from lamplighter.domain.learning.signature import (
    FailureKind,
    failure_key,
    signature_of,
    signatures_of,
)
from lamplighter.domain.memory.frames import FRAMES
from lamplighter.domain.relate.judge import Relation, judge_frame
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.series import PointState, SeriesPoint
from lamplighter.domain.services.service import ActionKind

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KINDS = (
    ("tcp: connection refused at 127.0.0.1:8080", FailureKind.REFUSED, "connection refused"),
    ("http: answered 503, expected 200-399", FailureKind.STATUS, "answered 503"),
    ("http: answered 404, expected 200-399", FailureKind.STATUS, "answered 404"),
    ("tcp: timed out after 5 s", FailureKind.TIMEOUT, "timed out"),
    (
        "tls: certificate not valid: certificate has expired",
        FailureKind.CERTIFICATE,
        "expired certificate",
    ),
    ("http: connection reset by 10.0.0.1:80", FailureKind.RESET, "connection reset"),
    ("dns: no address of db.lan", FailureKind.NAME, "no address of db.lan"),
    ("process: not running: nginx", FailureKind.NOT_RUNNING, "not running: nginx"),
    (
        "job: exit code 2, expected 0: 14:03:07 worker 4711 lost a1b2c3d4",
        FailureKind.EXIT,
        "exit code 2: # worker # lost #",
    ),
    ("disk: 512 MB free at /var", FailureKind.OTHER, "# free at /var"),
    ("app: exit code 99999999999999999999", FailureKind.OTHER, "exit code #"),
    (
        "disk: 0.2%, less than 5%: 1 MB free at /var",
        FailureKind.OTHER,
        "too little free space",
    ),
    (
        "disk: 1%, less than 5% of inodes free at /var",
        FailureKind.OTHER,
        "too few free inodes",
    ),
)


@pytest.mark.parametrize(("line", "kind", "evidence"), KINDS)
def test_evidence_is_reduced_to_a_failure_kind_and_text_without_numbers(
    line: str, kind: FailureKind, evidence: str
) -> None:
    found = signature_of("app", line)
    assert (found.failure, found.evidence) == (kind, evidence)
    assert found.check == line.partition(":")[0]


def test_every_kind_of_failure_has_its_own_signature() -> None:
    assert len({signature_of("app", line).key for line, *_ in KINDS}) == len(KINDS)


def test_a_refused_connection_has_one_signature_for_all_checks() -> None:
    one, two = (
        f"{name}: connection refused at [::1]:{port}" for name, port in (("a", 1), ("b", 2))
    )
    assert len(signatures_of("app", f"{one}\n{two}\nb: timed out after 5 s")) == 2
    assert signature_of("App", one).key == signature_of("app", two).key


NUMBERS = st.integers(0, 10**9) | st.floats(0, 10**6, allow_nan=False).map(lambda x: f"{x:.2f}")
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(lambda at: f"{at:%FT%TZ}")
VOLATILE = (
    NUMBERS.map(str)
    | MOMENTS
    | st.uuids().map(str)
    | st.tuples(st.ip_addresses(v=4), st.integers(1, 65535)).map(lambda x: f"{x[0]}:{x[1]}")
)


@given(st.sampled_from(["job: worker {} died", "http: no answer from {}: x", "{} lost"]), VOLATILE)
def test_numbers_times_ids_and_ports_do_not_split_a_signature(template: str, value: str) -> None:
    assert (
        signature_of("app", template.format(value)).key
        == signature_of("app", template.format(7)).key
    )


@given(st.text())
def test_any_text_has_a_signature_of_one_short_line(text: str) -> None:
    for each in signatures_of("app", text):
        assert len(each.evidence) <= 100
        assert "\n" not in each.evidence


@pytest.mark.parametrize(
    ("worked", "tried", "interval"),
    [
        (0, 0, (0.05, 0.95)),
        (1, 1, (0.224, 0.975)),
        (4, 4, (0.549, 0.99)),
        (0, 2, (0.017, 0.632)),
        (500, 1000, (0.474, 0.526)),
        (9_000, 10_000, (0.895, 0.905)),
    ],
)
def test_the_interval_is_the_beta_interval_with_prior_1_1(
    worked: int, tried: int, interval: tuple[float, float]
) -> None:
    assert beta_interval(worked, tried) == pytest.approx(interval, abs=0.002)


@pytest.mark.parametrize(
    ("worked", "tried", "helps", "useless"),
    [
        (0, 0, False, False),
        (1, 1, True, False),
        (0, 1, False, True),
        (1, 2, False, False),
        (4, 5, False, False),
        (6, 7, True, False),
        (1, 7, False, True),
    ],
)
def test_one_success_helps_and_after_a_failure_the_interval_decides(
    worked: int, tried: int, helps: bool, useless: bool
) -> None:
    counts = ActionCounts(worked, tried)
    assert (counts.helps, counts.useless) == (helps, useless)


@given(st.integers(0, 60), st.integers(0, 60))
def test_no_action_is_both_helpful_and_useless(worked: int, failed: int) -> None:
    counts = ActionCounts(worked, worked + failed)
    low, high = counts.interval
    assert 0 <= low <= high <= 1
    assert not (counts.helps and counts.useless)


def test_times_are_shown_as_robust_quantiles() -> None:
    assert robust_interval([6, 4, 9, 6]) == (6, 4, 9)
    assert robust_interval([5.0] * 19 + [600.0]) == (5.0, 5.0, 5.0)
    assert robust_interval([]) is None


@pytest.mark.parametrize(
    ("outcomes", "asked", "result"),
    [
        ((UseOutcome.FAILURE, UseOutcome.SUCCESS), True, ActionResult.FIXED),
        ((UseOutcome.FAILURE,), False, ActionResult.FAILED),
        ((UseOutcome.UNCONFIRMED,), True, ActionResult.FAILED),
        ((UseOutcome.UNCONFIRMED,), False, ActionResult.UNCLEAR),
        ((UseOutcome.ABANDONED,), True, ActionResult.UNCLEAR),
    ],
)
def test_a_successful_later_attempt_counts_as_fixed(
    outcomes: tuple[UseOutcome, ...], asked: bool, result: ActionResult
) -> None:
    uses = [
        CooldownUse(
            id=number,
            service="app",
            action=ActionKind.RESTART,
            outcome=each,
            created_at=NOON + timedelta(minutes=number),
        )
        for number, each in enumerate(outcomes)
    ]
    assert result_of(uses, disproved=asked) is result


@pytest.mark.parametrize(
    ("use", "asked", "result"),
    [
        ({"text": "stopped by a halt"}, True, ActionResult.UNCLEAR),
        ({"text": "stopped at the end of its session"}, False, ActionResult.UNCLEAR),
        ({"text": "it is still down", "marked": True}, False, ActionResult.UNCLEAR),
        ({"text": "it is still down", "marked": True}, True, ActionResult.FAILED),
        ({"text": "it failed", "marked": True, "healthy_after": 4.0}, True, ActionResult.FIXED),
        ({"text": "exit code 1"}, False, ActionResult.FAILED),
    ],
)
def test_only_a_completed_and_checked_action_counts_as_not_fixed(
    use: dict[str, Any], asked: bool, result: ActionResult
) -> None:
    failed = CooldownUse(
        id=1,
        service="app",
        action=ActionKind.RESTART,
        outcome=UseOutcome.FAILURE,
        created_at=NOON,
        **use,
    )
    assert result_of([failed], disproved=asked) is result


FAILS, PASSES, BUSY = PointState.FAILED, PointState.PASSED, PointState.INCONCLUSIVE


@pytest.mark.parametrize(
    ("points", "fails"),
    [
        ([(2, FAILS), (6, FAILS)], True),
        ([(2, FAILS), (4, BUSY), (6, FAILS)], True),
        ([(6, FAILS)], False),
        ([(1, FAILS), (4, FAILS)], False),
        ([(2, FAILS), (6, PASSES), (8, FAILS)], False),
        ([(6, BUSY), (8, BUSY)], False),
        ([], False),
    ],
)
def test_a_check_still_fails_if_measured_so_a_while_after_the_action(
    points: list[tuple[int, PointState]], fails: bool
) -> None:
    measured = [SeriesPoint(at=NOON + timedelta(seconds=at), state=state) for at, state in points]
    assert fails_on(measured, NOON) is fails


def test_a_failure_key_contains_all_initial_failures() -> None:
    def key(evidence: str, **more: bool) -> str:
        return failure_key(signatures_of("app", evidence), **more)

    refused, full = "tcp: connection refused at h:1", "disk: 1%, less than 5%: 1 MB free at /"
    assert key(f"{refused}\n{full}") == key(f"{full}\n{refused}")
    assert key(f"{refused}\n{full}") != key(refused)
    assert key(f"{refused}\nthen {full}") == key(refused)
    assert key(refused, reported=True) != key(refused)


def repair(worked: int, tried: int, *seconds: float, cause: str = "timed out") -> LearnedFact:
    return render(
        LearnedFact(
            kind=FactKind.REPAIR,
            service="app",
            action="restart",
            cause=cause,
            worked=worked,
            tried=tried,
            seconds=seconds,
            at=NOON,
        )
    )


def test_the_sentence_of_a_fact_is_generated_from_its_fields() -> None:
    assert repair(4, 4, 6, 4, 9, 6).sentence == (
        "Restart fixes 'timed out' on app: 4 of 4, healthy after 6 s (4-9)"
    )
    assert repair(0, 2, cause="expired certificate").sentence == (
        "Restart does not help against 'expired certificate' on app: 0 of 2"
    )


def test_a_fact_with_other_counts_is_recognized_as_the_same_text() -> None:
    verdict = judge_frame(repair(5, 5, 6).sentence, repair(4, 4, 6, 9).sentence)
    assert verdict is not None
    assert verdict.relation is Relation.SAME
    assert len({frame.sentence for frame in FRAMES}) == len(FRAMES)
