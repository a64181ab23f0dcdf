"""The engine as a process: killed at the worst moments, it resumes and repeats nothing."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from messages_sessions import Desk, Session, desk, seen

from lamplighter.domain.sessions import session
from lamplighter.domain.sessions.transcript import Finished, Text, ToolResult
from lamplighter.engines import CHECKPOINT, CHECKPOINT_LOCK
from lamplighter.engines.messages.turns import UNKNOWN_OUTCOME
from lamplighter.supervisor.run.files import SessionFiles
from messages_api import Asked, MessagesApi, Turn, says, uses

ROW = session.Session(
    id=7,
    tier=2,
    engine="messages",
    trigger=session.Trigger.SCHEDULED,
    status=session.Status.RUNNING,
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
)
MARKER = "[MEMORY:timing:caddy] Starts within 2 s."
SECONDS = 60


class Stage:
    """A model that delays its second turn until the test releases it."""

    def __init__(self) -> None:
        self.waits = True

    def __call__(self, asked: Asked) -> Turn:
        if asked.turn == 0:
            return uses("look", {"service": "caddy"}, saying=MARKER)
        waiting = 60.0 if self.waits else 0.0
        return says("{{tool_result}}", delay=waiting)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def api(stage: Stage) -> Iterator[MessagesApi]:
    with MessagesApi({"stage": stage}) as api:
        yield api


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Desk]:
    scratch = tmp_path / "7"
    scratch.mkdir()
    with desk(scratch) as here:
        yield here


@pytest.fixture
def ran(api: MessagesApi, gate: Desk) -> Session:
    return Session(api.url("stage"), Path(gate.path).parent, gate.path)


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "did not come about"
        time.sleep(0.02)


def whole(ran: Session, times: int = 1) -> None:
    """Resume the session as the supervisor does, and wait for its end."""
    said = SessionFiles(ran.directory).repair(ROW)
    ran.asked |= {"resumed": times, "printed": said}
    process = ran.start()
    assert process.wait(SECONDS) == 0, (ran.directory / "err").read_text()


def said(ran: Session) -> list[str]:
    return [item.text for item in ran.items if isinstance(item, Text)]


def test_a_process_killed_during_a_request_resumes_without_repeating_text(
    ran: Session, api: MessagesApi, gate: Desk, stage: Stage
) -> None:
    process = ran.start()
    until(lambda: len(api.requests()) == 2)
    process.kill()
    process.wait()
    stage.waits = False

    whole(ran)

    assert said(ran) == [MARKER, "caddy is up"]
    assert gate.used == [("look", {"service": "caddy"})]
    before, again = api.requests()[-2:]
    assert again.messages == before.messages
    *_, last = ran.items
    assert isinstance(last, Finished)
    assert (last.is_error, last.turns) == (False, 2)
    assert {line["session_id"] for line in ran.printed} == {"7"}


def test_an_interrupted_tool_is_not_repeated_and_the_model_is_notified(
    ran: Session, gate: Desk, stage: Stage
) -> None:
    begun, over = Event(), Event()

    def slow(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        begun.set()
        over.wait(SECONDS)
        return seen(name, given)

    gate.use, stage.waits = slow, False
    process = ran.start()
    assert begun.wait(SECONDS)
    process.kill()
    process.wait()
    over.set()

    whole(ran)

    assert len(gate.used) == 1
    (answer,) = [item for item in ran.items if isinstance(item, ToolResult)]
    assert (answer.text, answer.is_error) == (UNKNOWN_OUTCOME, True)
    assert said(ran) == [MARKER, UNKNOWN_OUTCOME]


@pytest.mark.parametrize("lost", [1, 40, "line"])
def test_only_a_truncated_line_is_printed_again_after_a_resume(
    ran: Session, gate: Desk, stage: Stage, lost: int | str
) -> None:
    """The resumed process prints the item that the checkpoint recorded as next."""
    stage.waits = False
    assert ran.start().wait(SECONDS) == 0
    *kept, last = ran.file.read_bytes().splitlines(keepends=True)
    cut = b"" if lost == "line" else last[: -int(lost)]
    ran.file.write_bytes(b"".join(kept) + cut)
    (ran.directory / CHECKPOINT_LOCK).unlink()

    # its checkpoint is the one written before its last lines were printed
    assert (ran.directory / CHECKPOINT).exists()
    ran.asked |= {"resumed": 1, "printed": SessionFiles(ran.directory).repair(ROW)}
    assert ran.start().wait(SECONDS) == 0

    whole_lines = [line for line in ran.file.read_bytes().splitlines() if line.endswith(b"}")]
    assert [line for line in whole_lines if b'"type": "result"' in line] == [last.rstrip()]
    assert said_in(whole_lines) == 2


def said_in(lines: list[bytes]) -> int:
    return sum(b'"type": "text"' in line for line in lines)


def test_only_one_process_can_run_a_session(ran: Session, api: MessagesApi) -> None:
    first = ran.start()
    until(lambda: len(api.requests()) == 2)
    files = SessionFiles(ran.directory.parent)

    assert not files.free(ROW, CHECKPOINT_LOCK)
    assert ran.start().wait(SECONDS) == 3

    first.kill()
    first.wait()
    assert files.free(ROW, CHECKPOINT_LOCK)


@pytest.mark.parametrize(
    ("number", "exit_code", "reasons"),
    [
        (signal.SIGINT, 130, ["aborted_streaming"]),
        (signal.SIGTERM, 130, ["aborted_streaming"]),
        (signal.SIGHUP, -signal.SIGHUP, []),
    ],
)
def test_an_interrupt_prints_a_result_unless_the_supervisor_is_dead(
    ran: Session, api: MessagesApi, number: signal.Signals, exit_code: int, reasons: list[str]
) -> None:
    process = ran.start()
    until(lambda: len(api.requests()) == 2)

    process.send_signal(number)

    assert process.wait(SECONDS) == exit_code
    ended = [line for line in ran.printed if line["type"] == "result"]
    assert [line["terminal_reason"] for line in ended] == reasons
