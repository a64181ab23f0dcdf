"""Push checks with the real server and the real supervisor: a silent job fails."""

import httpx2
from homes import Home

SERVICES = """
services:
  backup:
    checks:
      - push: {every: 1s, grace: 2s}
        name: nightly
"""
SERIES = "SELECT state FROM check_series WHERE service = 'backup'"
REQUESTS = "SELECT COUNT(*) FROM requests WHERE trigger = 'check'"


def declared(home: Home) -> str:
    """Declare a job, start everything, and return the address for the job's reports."""
    home.env["LAMPLIGHTER_CHECK_INTERVAL"] = "1s"
    (home.path / "services.yaml").write_text(SERVICES)
    home.start("web")
    made = home.run("services", "push-key", "backup/nightly")
    url = made.stdout.strip()
    home.until(lambda: answers(url.rpartition("/push/")[0]))
    return url


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def test_silent_job_fails_and_is_investigated(home: Home) -> None:
    url = declared(home)
    assert httpx2.get(f"{url}/start").status_code == 200
    assert httpx2.head(url).status_code == 200

    home.start("supervisor")
    home.until(lambda: home.value(SERIES) == "passed")
    home.until(lambda: home.value(SERIES) == "failed")
    home.until(lambda: home.value("SELECT COUNT(*) FROM sessions WHERE trigger = 'check'"))

    points = home.rows("SELECT state, latency_ms, detail FROM check_points ORDER BY at")
    assert points[0][0] == "passed"
    assert points[0][1] is not None
    assert str(points[1][2]).startswith("no signal since the run expected at 20")
    assert home.value(REQUESTS) == 1
    failing = "SELECT detail FROM checks WHERE name = 'nightly' AND ok = 0"
    assert "no signal" in str(home.until(lambda: home.value(failing)))


def test_killed_supervisor_neither_loses_nor_repeats_push_signals(home: Home) -> None:
    url = declared(home)
    supervisor = home.start("supervisor")
    assert httpx2.post(f"{url}/7", content=b"disk full").status_code == 200
    home.until(lambda: home.value(SERIES) == "failed")
    supervisor.kill()
    supervisor.wait()
    assert httpx2.get(f"{url}/fail").status_code == 200
    assert httpx2.get(url).status_code == 200
    assert home.value("SELECT COUNT(*) FROM check_points WHERE status = 7") == 1

    home.start("supervisor")
    home.until(lambda: home.value("SELECT COUNT(*) FROM check_points WHERE state = 'passed'"))

    signals = home.rows("SELECT kind, exit_status, at FROM push_signals ORDER BY id")
    assert [each[:2] for each in signals] == [("fail", 7), ("fail", None), ("success", None)]
    stored = home.rows("SELECT at FROM check_points WHERE detail NOT LIKE 'no signal%' ORDER BY at")
    assert [at for (at,) in stored] == [each[2] for each in signals]
    assert home.value("SELECT body FROM push_signals ORDER BY id") == "disk full"
