"""Sessions of real engines, by the real supervisor."""

import fcntl
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from homes import Home

import direct_writes
from confidences import UP, after
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from living import free_port


def status(home: Home, session: int = 1) -> tuple[object, ...]:
    rows = home.rows("SELECT status, reason FROM sessions WHERE id = ?", session)
    return rows[0] if rows else (None, None)


def test_marker_is_stored_before_its_session_ends(home: Home) -> None:
    home.engine("numbered", "1000", "0.01")
    home.start("supervisor")

    home.until(lambda: home.value("SELECT count(*) FROM memories"))

    assert status(home) == ("running", "")


def test_run_without_a_supervisor_runs_and_shows_the_session(home: Home) -> None:
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")

    done = home.run("run", "--tier", "2")

    assert done.returncode == 0, done.stderr
    assert "[MEMORY:timing:jellyfin] Takes 60s to start" in done.stdout
    assert "--- session complete (turns=1, cost=$0.0100" in done.stdout
    assert home.rows("SELECT tier, trigger, status FROM sessions") == [(2, "manual", "completed")]
    assert home.rows("SELECT service, confidence, tier FROM memories") == [("jellyfin", 0.7, 2)]


def test_run_beside_a_supervisor_queues_a_request(home: Home) -> None:
    home.engine("numbered", "30", "0.05")
    home.start("supervisor")
    home.until(lambda: status(home)[0] == "running")

    done = home.run("run", "--prompt", "Look closer")

    assert done.returncode == 0, done.stderr
    assert "is number 1 in its queue" in done.stdout
    rows = home.rows("SELECT trigger, status, prompt FROM sessions ORDER BY id")
    assert rows == [("scheduled", "completed", ""), ("manual", "completed", "Look closer")]
    assert home.rows("SELECT state, session_id FROM requests") == [("done", 2)]


@pytest.mark.parametrize("killed", [False, True])
def test_run_leads_itself_if_the_run_that_it_waits_for_ends(home: Home, killed: bool) -> None:
    home.engine("numbered", "1", "0", str(home.path / "go"))
    first = home.start("run")
    home.until(lambda: status(home)[0] == "running")
    second = home.start("run", "--prompt", "Look closer")
    home.until(lambda: home.rows("SELECT id FROM requests WHERE state = 'queued'"))

    if killed:
        first.kill()
    (home.path / "go").touch()

    assert (first.wait(60), second.wait(60)) == (-9 if killed else 0, 0)
    rows = home.rows("SELECT status, prompt FROM sessions ORDER BY id")
    assert rows == [("interrupted" if killed else "completed", ""), ("completed", "Look closer")]


def test_waiting_run_leads_after_the_clock_was_set_back(home: Home) -> None:
    home.engine("lines", "Nothing to report")
    home.run("run")
    database = home.path / "lamplighter.db"
    direct_writes.run(sqlite_url(database), "UPDATE leases SET heartbeat_at = '2100-01-01T00:00Z'")
    with Path(f"{database}.supervisor.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = home.start("run")
        home.until(lambda: home.rows("SELECT id FROM requests WHERE state = 'queued'"))

    assert waiting.wait(60) == 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_stopped_run_says_what_becomes_of_its_request_and_session(home: Home, name: str) -> None:
    home.engine("numbered", "1", "0", str(home.path / "go"))
    first = home.start("supervisor")
    home.until(lambda: status(home)[0] == "running")
    waiting = home.start("run")
    home.until(lambda: home.rows("SELECT id FROM requests WHERE state = 'queued'"))

    waiting.send_signal(signal.Signals[name])

    assert waiting.wait(60) == 2
    assert home.rows("SELECT id, state FROM requests") == [(1, "cancelled")]
    log = (home.path / "log").read_text()
    assert log.endswith("lamplighter: Stopped. Request 1 was withdrawn.\n")

    (home.path / "go").touch()
    home.until(lambda: status(home)[0] == "completed")
    (home.path / "go").unlink()
    following = home.start("run")
    home.until(lambda: home.rows("SELECT id FROM sessions WHERE status = 'running'"))
    following.send_signal(signal.Signals[name])

    assert following.wait(60) == 2
    assert (home.path / "log").read_text().endswith("lamplighter: Stopped. Session 2 continues.\n")
    assert first.poll() is None
    (home.path / "go").touch()
    home.until(lambda: home.value("SELECT status FROM sessions WHERE id = 2") == "completed")


def test_supervisor_on_standby_leads_before_a_waiting_run(home: Home) -> None:
    home.engine("numbered", "1", "0", str(home.path / "go"))
    home.start("run")
    home.until(lambda: status(home)[0] == "running")
    standby = home.start("supervisor")
    home.until(lambda: "on standby" in (home.path / "log").read_text())
    waiting = home.start("run")
    home.until(lambda: home.rows("SELECT id FROM requests WHERE state = 'queued'"))

    (home.path / "go").touch()

    assert waiting.wait(60) == 0
    assert home.value("SELECT pid FROM leases") == standby.pid


def test_observations_of_a_session_are_in_the_next_prompt(home: Home) -> None:
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")
    home.run("run")
    home.engine("reads")

    done = home.run("run", "--json")

    told = json.loads(done.stdout)["response"]
    assert told == home.value("SELECT injected FROM prompts WHERE session_id = 2")
    assert "## Operational Memory (1 memories, ~" in told
    assert "### jellyfin\n- [timing] Takes 60s to start (confidence: 0.7)\n" in told
    assert home.rows("SELECT memory_id, position FROM exposures") == [(1, 0)]


def test_repeated_observation_reinforces_the_memory(home: Home) -> None:
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")
    for _ in range(3):
        home.run("run")

    assert home.rows("SELECT confidence, version FROM memories") == [(after(UP, UP), 3)]


@pytest.mark.parametrize(
    ("mode", "ended"),
    [
        (
            "fails",
            ("failed", "The engine ended without a result (exit 3). Its last output: no disk left"),
        ),
        ("leaves_children", ("completed", "")),
    ],
)
def test_session_ends_with_the_expected_status_and_reason(
    home: Home, mode: str, ended: tuple[str, str]
) -> None:
    home.engine(mode)

    home.run("run")

    assert status(home) == ended
    assert not home.left_over()


def test_invalid_output_is_an_event_and_the_rest_is_ingested(home: Home) -> None:
    home.engine("odd")

    done = home.run("run")

    assert done.returncode == 0
    assert "Traceback" not in done.stderr + done.stdout
    assert home.rows("SELECT observation FROM memories") == [("Still heard after all that",)]
    texts = [str(row[0]) for row in home.rows("SELECT text FROM events ORDER BY id")]
    assert texts == [
        "A line of 16.0 MB is too long and was skipped.",
        "A line is nested too deeply and was skipped.",
    ]


def test_session_without_output_times_out(home: Home) -> None:
    home.engine("ignores_signals")
    home.env["LAMPLIGHTER_IDLE_TIMEOUT"] = "1s"

    done = home.run("run")

    assert done.returncode == 1
    assert status(home) == ("timed_out", "The session printed nothing for 1 s.")


def test_missing_engine_command_is_explained(home: Home) -> None:
    home.env |= {"LAMPLIGHTER_ENGINE": "exec", "LAMPLIGHTER_EXEC_COMMAND": "no-such-program"}

    done = home.run("run")

    assert done.returncode == 1
    assert status(home)[1] == (
        "LAMPLIGHTER_EXEC_COMMAND names 'no-such-program', which was not found"
        " or is not executable."
    )


def test_supervisor_drains_on_sigterm(home: Home) -> None:
    home.engine("hangs")
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM events"))

    supervisor.send_signal(signal.SIGTERM)

    assert supervisor.wait(timeout=15) == 0
    assert status(home) == ("stopped", "The supervisor was stopped.")
    assert home.rows("SELECT pid, session_id FROM leases") == [(0, None)]


def test_one_of_four_supervisors_leads_and_another_takes_over(home: Home) -> None:
    home.engine("numbered", "3", "0.01")
    home.env["LAMPLIGHTER_INTERVAL"] = "1h"
    all_four = [home.start("supervisor") for _ in range(4)]
    home.until(lambda: status(home)[0] == "completed")
    time.sleep(1.5)
    assert home.value("SELECT epoch FROM leases") == 1

    leader = home.value("SELECT pid FROM leases")
    next(each for each in all_four if each.pid == leader).send_signal(signal.SIGKILL)

    home.until(lambda: home.value("SELECT epoch FROM leases") == 2)
    home.until(lambda: home.value("SELECT count(*) FROM sessions") == 2)


def test_rounds_start_at_the_interval(home: Home) -> None:
    home.engine("lines", "[EVENT:info] here")
    home.env["LAMPLIGHTER_INTERVAL"] = "500ms"
    home.start("supervisor")

    home.until(lambda: int(str(home.value("SELECT count(*) FROM sessions") or 0)) >= 3)


def test_invalid_services_file_is_one_event_without_traceback(home: Home) -> None:
    (home.path / "services.yaml").write_text("services:\n  web:\n    chekcs: []\n")
    home.env["LAMPLIGHTER_INTERVAL"] = "300ms"
    home.start("supervisor")

    home.until(lambda: home.value("SELECT count(*) FROM events"))
    time.sleep(1)

    [(level, text)] = home.rows("SELECT level, text FROM events")
    assert level == "critical"
    assert "services.yaml:3:5" in str(text)
    assert "Traceback" not in (home.path / "log").read_text()
    assert home.value("SELECT count(*) FROM sessions") == 0

    (home.path / "services.yaml").write_text("services: {}\n")
    home.until(lambda: home.value("SELECT count(*) FROM sessions"))


def test_run_refuses_an_invalid_services_file_with_its_line(home: Home) -> None:
    (home.path / "services.yaml").write_text("services:\n  web:\n    chekcs: []\n")

    done = home.run("run")

    assert done.returncode == 2
    assert "services.yaml:3:5" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_setting_is_refused_with_a_suggestion(home: Home) -> None:
    home.env["LAMPLIGHTER_INTERVALL"] = "5s"

    done = home.run("run")

    assert done.returncode == 2
    assert done.stderr == (
        "lamplighter: LAMPLIGHTER_INTERVALL: is not a setting; did you mean LAMPLIGHTER_INTERVAL?\n"
    )


def test_unwritable_home_is_refused_with_an_explanation(home: Home) -> None:
    home.env["LAMPLIGHTER_HOME"] = "/proc/lamplighter"

    done = home.run("run")

    assert done.returncode == 2
    assert "cannot be used" in done.stderr
    assert "LAMPLIGHTER_HOME" in done.stderr
    assert "Traceback" not in done.stderr


def test_temporarily_locked_database_loses_no_marker(home: Home) -> None:
    home.engine("numbered", "100", "0.01")
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM memories"))
    connection = driver.connect(str(home.path / "lamplighter.db"))

    connection.execute("BEGIN IMMEDIATE")
    time.sleep(7)  # longer than a writer waits for the lock
    connection.execute("ROLLBACK")
    connection.close()

    home.until(lambda: status(home)[0] == "completed")
    assert home.value("SELECT count(*) FROM memories") == 100
    assert home.value("SELECT count(*) FROM markers") == 100


def test_tier_above_the_highest_allowed_is_refused(home: Home) -> None:
    home.engine("lines", "[EVENT:info] here")
    home.env["LAMPLIGHTER_MAX_TIER"] = "1"

    done = home.run("run", "--tier", "2")

    assert done.returncode == 2
    assert done.stderr.endswith("tier: is 2; it must be between 1 and 1\n")
    assert home.value("SELECT count(*) FROM sessions") == 0


def test_request_with_an_invalid_services_file_fails_with_the_reason(home: Home) -> None:
    (home.path / "services.yaml").write_text("services: 5\n")
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM events"))

    connection = driver.connect(str(home.path / "lamplighter.db"))
    connection.execute("INSERT INTO requests (created_at) VALUES ('2026-01-01T00:00:00.000000Z')")
    connection.close()

    home.until(lambda: status(home)[0])
    home.until(lambda: status(home)[0] == "failed")
    assert "services.yaml:1:" in str(status(home)[1])
    assert home.rows("SELECT state FROM requests") == [("done",)]


def test_procfile_runs_both_processes(home: Home) -> None:
    home.env["LAMPLIGHTER_PORT"] = str(free_port())
    binaries = Path(sys.executable).parent
    home.env["PATH"] = f"{binaries}:{home.env['PATH']}"
    home.engine("lines", "[EVENT:info] here")
    root = Path(__file__).parents[2]
    log = (home.path / "log").open("ab")
    with log:
        honcho = subprocess.Popen(
            [binaries / "honcho", "start"], cwd=root, env=home.env, stdout=log, stderr=log
        )
    home.started.append(honcho)

    home.until(lambda: status(home)[0] == "completed")
    honcho.send_signal(signal.SIGTERM)

    honcho.wait(timeout=15)
    assert "Traceback" not in (home.path / "log").read_text()


def test_nearly_finished_session_completes_while_the_supervisor_drains(home: Home) -> None:
    home.engine("numbered", "50", "0.03")
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM memories"))

    supervisor.send_signal(signal.SIGTERM)

    assert supervisor.wait(timeout=15) == 0
    assert status(home) == ("completed", "")
    assert home.value("SELECT count(*) FROM memories") == 50


def test_engine_that_cannot_start_fails_its_session_with_an_explanation(home: Home) -> None:
    home.engine("lines", "[EVENT:info] here")
    (home.path / "sessions").write_text("no directory")

    done = home.run("run")

    assert done.returncode == 1
    assert status(home)[0] == "failed"
    assert "The engine failed to start: Not a directory" in str(status(home)[1])
    assert "Traceback" not in done.stderr


def test_invalid_services_file_keeps_the_last_valid_version_active(home: Home) -> None:
    home.engine("lines", "[EVENT:info] here")
    home.env["LAMPLIGHTER_INTERVAL"] = "500ms"
    home.start("supervisor")
    home.until(lambda: status(home)[0] == "completed")

    (home.path / "services.yaml").write_text("services: 5\n")

    told = "SELECT text FROM events WHERE level = 'critical'"
    home.until(lambda: home.rows(told))
    before = int(str(home.value("SELECT count(*) FROM sessions")))
    home.until(lambda: int(str(home.value("SELECT count(*) FROM sessions"))) > before + 1)
    [(text,)] = home.rows(told)
    assert "and the last valid version stays active: " in str(text)


def test_failed_session_is_recorded_as_a_critical_event(home: Home) -> None:
    home.engine("fails")

    home.run("run")

    events = home.rows("SELECT level, text, source FROM events ORDER BY id")
    assert events[1:] == [
        (
            "critical",
            (
                "Session 1 failed: The engine ended without a result (exit 3). Its last output: "
                "no disk left"
            ),
            "supervisor",
        )
    ]


def test_bound_port_is_in_use_immediately() -> None:
    from lamplighter.domain.errors import Unavailable
    from lamplighter.serve import web

    first = web.bind("127.0.0.1", 0)
    with first, pytest.raises(Unavailable, match="is in use"):
        web.bind("127.0.0.1", first.getsockname()[1])
