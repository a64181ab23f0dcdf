"""Scheduled rounds skip silenced services, with the real supervisor."""

from datetime import UTC, datetime, timedelta

from homes import Home

PART = """
services:
  films: {checks: [{tcp: "127.0.0.1:1", retries: 0}]}
  nas: {paused: true, checks: [{tcp: "127.0.0.1:1", retries: 0}]}
"""
ALL = "services: {nas: {paused: true, checks: [{tcp: '127.0.0.1:1', retries: 0}]}}\n"


def test_round_skips_silenced_services(home: Home) -> None:
    (home.path / "services.yaml").write_text(PART)

    home.start("supervisor")
    home.until(lambda: home.value("SELECT COUNT(*) FROM checks"))

    assert home.rows("SELECT DISTINCT service FROM checks") == [("films",)]


def test_round_is_skipped_if_all_services_are_silenced(home: Home) -> None:
    (home.path / "services.yaml").write_text(ALL)

    home.start("supervisor")
    home.until(lambda: home.value("SELECT next_round_at FROM leases"))

    assert home.value("SELECT COUNT(*) FROM sessions") == 0


def test_a_failure_in_a_window_opens_its_incident_only_after_the_window(home: Home) -> None:
    home.env["LAMPLIGHTER_CHECK_INTERVAL"] = "1s"
    home.start("supervisor")
    home.until(lambda: home.value("SELECT next_round_at FROM leases"))
    start = datetime.now(UTC).replace(microsecond=0)
    end = start + timedelta(seconds=15)
    check = f"{{tcp: '127.0.0.1:1', retries: 0}}], maintenance: [{{from: '{start}', to: '{end}'}}"
    (home.path / "services.yaml").write_text(f"services: {{films: {{checks: [{check}]}}}}\n")

    home.until(lambda: home.value("SELECT count(*) > 1 FROM check_points WHERE silent = 1"))
    home.until(lambda: home.value("SELECT count(*) FROM incidents"))

    [(detected,)] = home.rows("SELECT detected_at FROM incidents")
    assert datetime.fromisoformat(str(detected)) >= end
