"""Scheduled rounds skip silenced services, with the real supervisor."""

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
