"""Conformance, tiers and cooldowns: through real sessions, each a real engine.

The ends of the names are the numbers of the cases.
"""

import json
import sys
from pathlib import Path

import pytest

from living import Home, result, text

ASKS = "[ESCALATE:caddy] Refuses connections"
STATES = "SELECT tier, parent_id, status FROM sessions ORDER BY id"
TOUCHES = "import sys; open(sys.argv[1], 'a').write('ran\\n')"


def test_session_escalates_up_to_tier_3_and_then_to_a_person_81(home: Home) -> None:
    home.says(ASKS)  # the engine of each tier says the same

    assert home.rows(STATES) == [(1, None, "escalated"), (2, 1, "escalated"), (3, 2, "completed")]
    assert home.rows("SELECT tier, service, state, child_id FROM escalations ORDER BY id") == [
        (2, "caddy", "taken", 2),
        (3, "caddy", "taken", 3),
        (4, "caddy", "person", None),
    ]
    last = "SELECT level, text FROM events ORDER BY id DESC LIMIT 1"
    assert home.rows(last) == [("critical", "Needs a person: Refuses connections")]


def test_dry_run_reports_the_escalation_and_starts_no_next_tier_82(home: Home) -> None:
    home.run(text(ASKS), result(), words=("--dry-run",))

    assert home.rows(STATES) == [(1, None, "completed")]
    assert home.rows("SELECT service, state FROM escalations") == [("caddy", "dry")]
    last = "SELECT level, service, text FROM events ORDER BY id DESC LIMIT 1"
    told = "Dry run: would have escalated to tier 2: Refuses connections"
    assert home.rows(last) == [("info", "caddy", told)]


@pytest.mark.parametrize(
    "ending", [result(is_error=True, subtype="error_during_execution"), text("no result")]
)
def test_escalations_of_a_failed_session_are_dropped_83(
    home: Home, ending: dict[str, object]
) -> None:
    home.run(text(ASKS), ending)
    home.says("All is well")

    assert home.rows(STATES) == [(1, None, "failed"), (1, None, "completed")]
    assert home.rows("SELECT state FROM escalations") == [("dropped",)]


def test_each_session_of_a_chain_records_its_cost_87(home: Home) -> None:
    home.run(text(ASKS), result(total_cost_usd=0.25))

    assert home.rows("SELECT tier, cost_usd FROM sessions ORDER BY id") == [
        (1, 0.25),
        (2, 0.25),
        (3, 0.25),
    ]


def test_third_restart_within_four_hours_is_refused_97(home: Home, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    action = json.dumps([sys.executable, "-c", TOUCHES, str(ran)])
    home.services.write_text(
        "services:\n  caddy:\n    checks: [{tcp: '127.0.0.1:9', retries: 0}]\n"
        f"    actions:\n      - restart: {action}\n        wait: 1s\n"
    )

    for _ in range(3):
        home.run(tier=3, words=("--engine", "probe"))

    assert ran.read_text() == "ran\n" * 2
    assert [outcome for (outcome,) in home.rows("SELECT outcome FROM cooldowns ORDER BY id")] == [
        *("failure", "failure", "refused")
    ]
    home.write("UPDATE cooldowns SET created_at = '2026-01-01T00:00:00.000000Z'")
    home.run(tier=3, words=("--engine", "probe"))
    assert ran.read_text() == "ran\n" * 3
