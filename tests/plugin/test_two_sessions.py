"""A fact that a user types in one session is used in the next, in the real CLI (short form)."""

from benchmarks.two_sessions import FACTS, UNRELATED, measure
from developer_project import Desk

from living import Server

TOLD = FACTS[:2]


def test_facts_of_one_session_are_included_used_and_confirmed_in_the_next(
    server: Server, desk: Desk
) -> None:
    found = measure(server, desk, TOLD, UNRELATED[:1])

    expected = {
        **dict.fromkeys(("facts", "captured", "included", "used", "digests"), len(TOLD)),
        "confirmed_at_start": len(TOLD),
        "labeled_after_confirmation": 0,
        "unrelated_with_memories": 0,
        "other_project": 0,
        "missing": [],
    }
    assert {name: found[name] for name in expected} == expected


def test_failed_session_is_reported_as_missing_data(server: Server, desk: Desk) -> None:
    desk.more |= {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}

    found = measure(server, desk, TOLD[:1], [])

    assert found["missing"] == [f"{day}: {TOLD[0].typed}" for day in ("Monday", "Tuesday")]
    assert found["used"] == 0
