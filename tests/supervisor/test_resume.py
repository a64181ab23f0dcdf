"""After kill -9 a session of the engine `messages` resumes: completely, and once."""

import fcntl
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from time import sleep
from typing import BinaryIO

import psutil
import pytest
from homes import Home

import direct_writes
from lamplighter.engines import CHECKPOINT_LOCK
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.driver import OperationalError
from lamplighter.serve.local import run_directory
from lamplighter.supervisor.tools.gateway import NAME
from messages_api import Asked, MessagesApi, Turn, says, uses

FIRST = "[MEMORY:timing:caddy] Starts within 2 s."
SECOND = "[MEMORY:behavior:caddy] Drops idle connections."
ASK_TO_STOP = "UPDATE sessions SET stop_requested_at = started_at"
ENGINE = "lamplighter.engines.messages"


class Stage:
    """A model that uses a tool, and delays its second turn while `waits` is set."""

    def __init__(self) -> None:
        self.waits = True

    def __call__(self, asked: Asked) -> Turn:
        if asked.turn == 0:
            return uses("look", {"service": "caddy"}, saying=FIRST)
        return says(SECOND, delay=50.0 if self.waits else 0.0)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def api(stage: Stage) -> Iterator[MessagesApi]:
    with MessagesApi({"stage": stage}) as api:
        yield api


@pytest.fixture
def thinking(home: Home, api: MessagesApi) -> Home:
    """Return a home with a session that waits for its second turn."""
    home.env |= {
        "LAMPLIGHTER_ENGINE": "messages",
        "ANTHROPIC_BASE_URL": api.url("stage"),
        "ANTHROPIC_API_KEY": "sk-ant-test-0123456789",
    }
    home.start("supervisor")
    home.until(lambda: len(api.requests()) == 2)
    home.until(lambda: home.value("SELECT count(*) FROM markers") == 1)
    return home


def engines(home: Home) -> list[psutil.Process]:
    living = [psutil.Process(pid) for pid in home.left_over()]
    return [each for each in living if ENGINE in each.cmdline()[1:3]]


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def session(home: Home) -> tuple[object, ...]:
    columns = "status, reason, resumed, turns, leader_epoch"
    return home.rows(f"SELECT {columns} FROM sessions WHERE id = 1")[0]


def ended(home: Home) -> object:
    return home.value("SELECT status <> 'running' FROM sessions WHERE id = 1")


def told(home: Home) -> list[str]:
    """Return the warnings about the session itself."""
    query = "SELECT text FROM events WHERE session_id = 1 AND level = 'warning' ORDER BY id"
    return [str(text) for (text,) in home.rows(query)]


def each_once(home: Home) -> None:
    texts = [text for (text,) in home.rows("SELECT text FROM markers ORDER BY id")]
    assert texts == [FIRST, SECOND]
    assert home.value("SELECT count(*) FROM memories") == 2
    file = home.output(1).read_text()
    assert file.count('"type": "result"') == 1
    home.until(lambda: not any(path.is_dir() for path in home.outputs(1, "")))  # soon after its end


def test_killed_engine_resumes_its_session(thinking: Home, api: MessagesApi, stage: Stage) -> None:
    stage.waits = False
    (engine,) = engines(thinking)
    engine.kill()

    thinking.until(lambda: ended(thinking))

    assert session(thinking) == ("completed", "", 1, 2, 1)
    each_once(thinking)
    assert told(thinking) == [
        "Session 1 resumes (1 of at most 3 times): its engine exited without a result (exit 137)."
    ]
    assert api.requests()[-1].messages == api.requests()[1].messages


def test_session_fails_after_three_resumes(thinking: Home, api: MessagesApi) -> None:
    for times in range(4):
        thinking.until(lambda asked=2 + times: len(api.requests()) >= asked)
        (engine,) = engines(thinking)
        engine.kill()
        thinking.until(lambda dead=engine: has_ended(dead))

    thinking.until(lambda: ended(thinking))

    status, reason, resumed, *_ = session(thinking)
    assert (status, resumed) == ("failed", 3)
    assert str(reason).startswith("The engine ended without a result (exit 137: killed, ")


def test_next_supervisor_resumes_the_session_of_a_killed_one(
    thinking: Home, api: MessagesApi, stage: Stage
) -> None:
    (token,) = thinking.rows("SELECT id FROM tokens WHERE session_id = 1")
    thinking.started[0].kill()
    thinking.started[0].wait()
    assert not ended(thinking)
    stage.waits = False

    thinking.start("supervisor")
    thinking.until(lambda: ended(thinking))

    assert session(thinking) == ("completed", "", 1, 2, 2)
    each_once(thinking)
    assert told(thinking) == [
        "Session 1 resumes (1 of at most 3 times):"
        " the supervisor had stopped; all output was ingested."
    ]
    revoked = "SELECT revoked_at IS NOT NULL FROM tokens WHERE id = ?"
    assert thinking.value(revoked, *token)
    assert thinking.value("SELECT count(*) FROM tokens WHERE session_id = 1") == 2


@pytest.fixture
def answering(thinking: Home) -> Iterator[None]:
    """Listen at the gate's socket of session 1, whether or not the supervisor runs."""
    path = run_directory(thinking.path) / NAME.format(1)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        yield


@pytest.mark.usefixtures("answering")
def test_session_resumes_if_the_gate_closes_after_the_supervisor(
    thinking: Home, stage: Stage
) -> None:
    """A dying process closes its files in turn: under load the gate stays open longer."""
    thinking.started[0].kill()
    thinking.started[0].wait()
    stage.waits = False

    thinking.start("supervisor")
    thinking.until(lambda: ended(thinking))

    assert session(thinking) == ("completed", "", 1, 2, 2)
    each_once(thinking)


def test_session_resumes_if_its_engine_ends_late(thinking: Home, stage: Stage) -> None:
    (scratch,) = [path for path in thinking.outputs(1, "") if path.is_dir()]
    with (scratch / CHECKPOINT_LOCK).open("rb") as held:
        thinking.started[0].kill()
        thinking.started[0].wait()
        thinking.until(lambda: _locked(held))
        stage.waits = False
        thinking.start("supervisor")
        thinking.until(lambda: thinking.value("SELECT epoch FROM leases") == 2)
        sleep(0.5)  # one that does not wait gives the session up at once

    thinking.until(lambda: ended(thinking))

    assert session(thinking) == ("completed", "", 1, 2, 2)


def _locked(file: BinaryIO) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def test_stopped_session_does_not_resume(thinking: Home) -> None:
    supervisor = thinking.started[0]

    def asked() -> bool:
        """Request a stop while the supervisor is suspended, unless it then locks the database."""
        supervisor.send_signal(signal.SIGSTOP)
        try:
            direct_writes.run(sqlite_url(thinking.path / "lamplighter.db"), ASK_TO_STOP)
        except OperationalError:
            supervisor.send_signal(signal.SIGCONT)
            return False
        return True

    thinking.until(asked, 60)
    supervisor.kill()
    supervisor.wait()

    thinking.start("supervisor")
    thinking.until(lambda: ended(thinking))

    status, _, resumed, *_ = session(thinking)
    assert (status, resumed) == ("interrupted", 0)


def test_resumed_session_times_out_from_its_original_start(thinking: Home, stage: Stage) -> None:
    thinking.started[0].kill()
    thinking.started[0].wait()
    thinking.env["LAMPLIGHTER_SESSION_TIMEOUT"] = "1s"

    thinking.start("supervisor")
    thinking.until(lambda: ended(thinking))

    assert session(thinking)[:3] == ("timed_out", "The session ran longer than 1 s.", 1)


def test_no_session_resumes_while_halted(thinking: Home) -> None:
    thinking.started[0].kill()
    thinking.started[0].wait()
    (thinking.path / "HALT").write_text("The rack is being moved.")

    thinking.start("supervisor")
    thinking.until(lambda: ended(thinking))

    status, _, resumed, *_ = session(thinking)
    assert (status, resumed) == ("stopped", 0)


def test_stopped_run_withdraws_its_request_while_it_resumes_another_session(
    thinking: Home, api: MessagesApi
) -> None:
    thinking.started[0].kill()
    run = thinking.start("run")
    thinking.until(lambda: len(api.requests()) == 3)

    run.send_signal(signal.SIGTERM)

    assert run.wait(60) == 2
    [(number,)] = thinking.rows("SELECT id FROM requests WHERE state = 'cancelled'")
    log = (thinking.path / "log").read_text()
    assert log.endswith(f"lamplighter: Stopped. Request {number} was withdrawn.\n")
