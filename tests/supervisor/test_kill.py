"""kill -9 loses no output, duplicates nothing, and leaves nothing running."""

import json
import random
import signal
import time

import pytest
from homes import Home

from lamplighter.engines import stream
from thorough import examples

KILLS = examples(50)
UNFINISHED = "SELECT count(*) FROM sessions WHERE status = 'running' AND id < ?"


def printed(home: Home) -> list[str]:
    """Return the observations of all markers in the session files, in order."""
    found: list[str] = []
    for path in (home.path / "sessions").glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            if line.startswith(b'{"type": "assistant"') and line.endswith(b"}"):
                words = json.loads(line)["message"]["content"][0]["text"]
                found.append(words.partition("] ")[2])
    return sorted(found)


@pytest.mark.timeout(300)
def test_kill_at_random_moments_keeps_each_printed_marker_once(home: Home) -> None:
    home.engine("numbered", "400", "0.002")
    chance = random.Random(2026)
    for session in range(1, KILLS + 1):
        supervisor = home.start("supervisor")
        home.until(
            lambda expected=session: (
                home.value("SELECT count(*) FROM sessions") == expected
                and home.value("SELECT count(*) FROM memories")
            )
        )
        time.sleep(chance.uniform(0, 0.4))
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
        assert home.value(UNFINISHED, session) == 0, f"kill {session}: an older one has no end"
    home.env["LAMPLIGHTER_ENGINE"] = "probe"
    home.start("supervisor")
    home.until(lambda: not home.value("SELECT count(*) FROM sessions WHERE status = 'running'"))

    assert home.value("SELECT count(*) FROM markers") == home.value(
        "SELECT count(DISTINCT session_id || ':' || offset) FROM markers"
    )
    interrupted = home.value("SELECT count(*) FROM sessions WHERE status = 'interrupted'")
    taken = home.rows("SELECT text FROM markers ORDER BY id")
    assert interrupted == KILLS
    assert sorted(str(text).partition("] ")[2] for (text,) in taken) == printed(home)
    assert home.value("PRAGMA integrity_check") == "ok"
    assert home.until(lambda: not home.left_over())


def test_each_marker_of_one_interrupted_session_is_one_memory(home: Home) -> None:
    home.engine("numbered", "20000", "0.005")
    supervisor = home.start("supervisor")
    home.until(lambda: int(str(home.value("SELECT count(*) FROM memories") or 0)) > 50)

    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    home.env["LAMPLIGHTER_ENGINE"] = "probe"
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM sessions WHERE status = 'interrupted'"))

    kept = sorted(str(row[0]) for row in home.rows("SELECT observation FROM memories"))
    assert kept == printed(home)
    assert len(kept) == len(set(kept)) == home.value("SELECT count(*) FROM markers")


def test_killed_supervisor_leaves_no_child_process(home: Home) -> None:
    home.engine("ignores_signals")
    supervisor = home.start("supervisor")
    home.until(lambda: home.left_over() and home.value("SELECT count(*) FROM events"))

    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()

    assert home.until(lambda: not home.left_over())


def test_parser_reads_the_output_of_the_fake_engine() -> None:
    line = b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}}'
    assert [item.__class__.__name__ for item in stream.parse(line)] == ["Text"]


def test_next_supervisor_revokes_the_token_of_an_interrupted_session(home: Home) -> None:
    home.engine("hangs")
    supervisor = home.start("supervisor")
    living = "SELECT count(*) FROM tokens WHERE session_id = 1 AND revoked_at IS NULL"
    home.until(lambda: home.value(living))

    supervisor.kill()
    supervisor.wait()
    assert home.value(living) == 1
    home.start("supervisor")

    home.until(lambda: home.value(living) == 0)
