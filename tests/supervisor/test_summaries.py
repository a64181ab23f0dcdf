"""The content of a real session's summary."""

from homes import Home


def test_session_summary_is_not_empty_and_contains_no_markers(home: Home) -> None:
    home.engine(
        "lines", "Looked at web.\n[MEMORY:timing:web] Takes 60s to start", "[EVENT:info] ok"
    )
    home.run("run", "--prompt", "Look at web closely")
    home.run("run")

    first, second = (str(row[0]) for row in home.rows("SELECT summary FROM sessions ORDER BY id"))
    assert first == (
        'Session with 2 messages. Started: "Look at web closely" — Ended: "Looked at web."'
    )
    assert second == (
        'Session with 2 messages. Started: "tier 1, manual" — Ended: "Looked at web."'
    )
