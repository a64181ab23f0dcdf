"""The rules of the vital signs: healthy, warning, failing, and the advice."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.services import vitals
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.vitals import VitalSign, VitalStatus

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MB = 2**20


def leader(**more: object) -> Leader:
    fields: dict[str, object] = {
        "epoch": 1,
        "pid": 7,
        "engine": "probe",
        "interval_seconds": 60,
        "dry_run": False,
        "session_id": None,
        "heartbeat_at": NOON,
        "next_round_at": None,
    }
    return Leader(**{**fields, **more})  # type: ignore[arg-type]


def told(sign: VitalSign) -> tuple[str, str]:
    assert bool(sign.advice) is (sign.condition in ("warning", "failing"))
    return sign.condition.value, sign.text


@pytest.mark.parametrize(
    ("free", "condition"),
    [(10 * MB, "failing"), (64 * MB, "warning"), (1023 * MB, "warning"), (1024 * MB, "ok")],
)
def test_low_disk_space_is_reported_before_the_disk_is_full(free: int, condition: str) -> None:
    assert told(vitals.judge_space(free))[0] == condition


@pytest.mark.parametrize(
    ("free", "size"),
    [(1536 * MB, "1,536 MB"), (10 * 1024 * MB, "10 GB"), (71 * 1024 * MB, "71 GB")],
)
def test_large_free_space_is_in_gigabytes(free: int, size: str) -> None:
    assert told(vitals.judge_space(free)) == ("ok", f"{size} free on the disk of the home")


@pytest.mark.parametrize(
    ("size", "condition"), [(0, "ok"), (64 * MB, "warning"), (1024 * MB, "failing")]
)
def test_a_growing_log_is_reported(size: int, condition: str) -> None:
    assert told(vitals.judge_log_size(size))[0] == condition


@pytest.mark.parametrize(
    ("ahead", "condition"), [(-9, "ok"), (0, "ok"), (300, "ok"), (301, "failing")]
)
def test_a_newest_row_in_the_future_means_that_the_clock_is_wrong(
    ahead: int, condition: str
) -> None:
    assert told(vitals.judge_clock(NOON + ahead * SECOND, now=NOON))[0] == condition


def test_the_clock_check_of_an_empty_database_is_unknown() -> None:
    assert told(vitals.judge_clock(None, now=NOON))[0] == "unknown"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, ("failing", "No supervisor has run yet")),
        (leader(), ("ok", "Supervisor online (process 7), last heartbeat 20 s ago")),
        (
            leader(heartbeat_at=NOON - SECOND),
            ("failing", "No supervisor is running; last heartbeat 21 s ago"),
        ),
        (
            leader(pid=0),
            ("failing", "No supervisor is running; it ended 20 s ago"),
        ),
    ],
)
def test_a_supervisor_is_online_while_its_heartbeat_is_recent(
    found: Leader | None, expected: tuple[str, str]
) -> None:
    assert told(vitals.judge_heartbeat(found, now=NOON + 20 * SECOND)) == expected


@pytest.mark.parametrize(
    ("late", "session", "condition"),
    [
        (-3600, None, "ok"),
        (10, None, "ok"),
        (11, None, "warning"),
        (121, None, "failing"),
        (121, 5, "ok"),
    ],
)
def test_a_round_that_does_not_start_on_time_is_reported(
    late: int, session: int | None, condition: str
) -> None:
    found = leader(next_round_at=NOON - late * SECOND, session_id=session)

    assert told(vitals.judge_timer(found, now=NOON))[0] == condition


def test_without_a_supervisor_the_schedule_is_unknown() -> None:
    gone = leader(pid=0, next_round_at=NOON - 9 * timedelta(hours=1))

    assert told(vitals.judge_timer(gone, now=NOON)) == (
        "unknown",
        ("No supervisor is scheduling rounds"),
    )


@pytest.mark.parametrize(
    ("count", "minutes", "condition"),
    [(0, None, "ok"), (1, 10, "ok"), (1, 11, "warning"), (40, 1, "ok")],
)
def test_a_long_queued_request_is_reported(count: int, minutes: int | None, condition: str) -> None:
    oldest = None if minutes is None else NOON - timedelta(minutes=minutes)

    assert told(vitals.judge_requests(count, oldest, now=NOON))[0] == condition


@pytest.mark.parametrize(
    ("clients", "behind", "condition"),
    [(0, 0, "ok"), (1, 500, "ok"), (2, 501, "warning")],
)
def test_a_stalled_client_is_reported(clients: int, behind: int, condition: str) -> None:
    assert told(vitals.judge_feed(clients, behind))[0] == condition


@pytest.mark.parametrize(
    ("at", "condition"),
    [("0022", "ok"), ("0023", "failing"), ("0021", "failing"), (None, "failing")],
)
def test_a_schema_revision_other_than_the_newest_fails(at: str | None, condition: str) -> None:
    assert told(vitals.judge_schema(at, "0022"))[0] == condition


def test_an_unreadable_row_fails() -> None:
    assert told(vitals.judge_unreadable(0))[0] == "ok"
    assert told(vitals.judge_unreadable(1)) == (
        "failing",
        "1 memory skipped as unreadable",
    )


def test_only_a_failing_vital_sign_is_not_ok() -> None:
    assert [VitalSign("x", each, "").ok for each in VitalStatus] == [True, True, False, True]
