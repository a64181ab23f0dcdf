"""`lamplighter health`: the figures, the advice, and an exit status for schedules."""

import json
from pathlib import Path

from lamplighter.repository.store.database import sqlite_url
from organizer_kills import fill_database


def test_health_measures_prints_and_compares_the_memory(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    empty = run("health", "--last")
    assert (empty.exit_code, empty.output) == (0, "The memory has not been measured yet.\n")
    fill_database(sqlite_url(home / "lamplighter.db"), 120)

    found = run("health")
    assert found.exit_code == 1
    assert "ok   120 memories are not distilled (goal: under 1,000)\n" in found.output
    assert "BAD  120.00 undistilled for each distilled memory" in found.output
    assert "     Run `lamplighter organize`.\n" in found.output

    assert run("organize").exit_code == 0
    better = run("health")
    assert "     120 on 20" in better.output
    last = run("health", "--last", "--json")
    measured = json.loads(last.output)
    assert len(measured["trend"]) == 2
    assert measured["measurement"]["figures"]["compressed"] > 20
    assert last.exit_code == (1 if measured["measurement"]["state"] == "failing" else 0)
    assert run("health", "--last", "--compare").exit_code == 2
