"""Actions through the gate are limited; a session uses the gate through a socket."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from gates import (
    WAIT_SECONDS,
    gate,
    opened,
    running,
    until,
    uses,
    with_action,
)

from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.engines.probe import gate_client
from lamplighter.repository import Database
from lamplighter.supervisor.actions.gate import GateVerdict
from lamplighter.supervisor.tools import gateway
from lamplighter.supervisor.tools.toolbox import Toolbox

OVERDUE = "timed out after 1 s: up"


@pytest.mark.parametrize(
    ("argv", "more", "words", "exit_code"),
    [
        (("/bin/sh", "-c", "echo out; echo 'no disk' >&2; exit 3"), {}, "exit 3: no disk", 3),
        (("/bin/sh", "-c", "echo out; exit 3"), {}, "exit 3: out", 3),
        (("/bin/false",), {}, "exit 1", 1),
        (("no-such-program",), {}, "program not found: no-such-program", None),
        (("/etc/passwd",), {}, "program not executable: /etc/passwd", None),
        (("/bin/true",), {"directory": "/gone"}, "no such directory: /gone", None),
        (("/bin/sh", "-c", "echo up; sleep 60"), {"timeout": 1.0}, OVERDUE, None),
        (("/bin/sh", "-c", "kill -9 $$"), {}, "exit 137", 137),
    ],
)
async def test_failed_action_is_explained_and_uses_a_slot(
    db: Database, argv: tuple[str, ...], more: dict[str, Any], words: str, exit_code: int | None
) -> None:
    asked = gate(db, await opened(db), services=with_action(*argv, **more))

    verdict = await asked.run_action("web", "restart")

    expected = GateVerdict(
        outcome=UseOutcome.FAILURE, text=words, use_id=1, attempts=1, exit_code=exit_code
    )
    assert verdict == expected
    [use] = await uses(db)
    assert (use.outcome, use.text, use.spent) == (UseOutcome.FAILURE, words, True)
    assert not asked.busy


DAEMON = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").close()
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
if sys.argv[2] == "stays":
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("mode", "seconds", "outcome"),
    [("leaves", 30.0, UseOutcome.UNCONFIRMED), ("stays", 2.0, UseOutcome.FAILURE)],
)
async def test_daemon_that_ignores_signals_ends_with_its_action(
    db: Database, tmp_path: Path, mode: str, seconds: float, outcome: UseOutcome
) -> None:
    argv = (sys.executable, "-c", DAEMON, str(tmp_path / "up"), mode)
    asked = gate(db, await opened(db), services=with_action(*argv, timeout=seconds))

    verdict = await asyncio.wait_for(asked.run_action("web", "restart"), WAIT_SECONDS)

    assert verdict.outcome is outcome
    assert (tmp_path / "up").exists()
    assert running(str(tmp_path / "up")) == []


async def test_large_action_output_is_discarded_with_bounded_memory(db: Database) -> None:
    argv = ("/bin/sh", "-c", "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo end")
    asked = gate(db, await opened(db), services=with_action(*argv, timeout=90.0))
    before = psutil.Process().memory_info().rss

    verdict = await asked.run_action("web", "restart")

    assert verdict.outcome is UseOutcome.UNCONFIRMED
    assert verdict.text.startswith("done: xxxx")
    assert len(verdict.text) < 450
    assert psutil.Process().memory_info().rss - before < 50_000_000


async def test_action_output_is_masked_and_settings_are_not_inherited(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMPLIGHTER_TOKEN", "x")
    monkeypatch.setenv("DB_PASSWORD", "hunter2-hunter2")
    services = with_action("/bin/sh", "-c", "echo hunter2-hunter2; env | cut -d= -f1 | sort")
    redact = Redactor({"hunter2-hunter2": "DB_PASSWORD"})

    verdict = await gate(db, await opened(db), services=services, redact=redact).run_action(
        "web", "restart"
    )

    assert "hunter2" not in verdict.text
    assert " PATH" in verdict.text
    assert "LAMPLIGHTER_TOKEN" not in verdict.text
    assert " DB_PASSWORD" not in verdict.text


async def test_cancelled_action_is_a_failure_and_leaves_no_process(
    db: Database, tmp_path: Path
) -> None:
    argv = (sys.executable, "-c", DAEMON, str(tmp_path / "up"), "stays")
    asked = gate(db, await opened(db), services=with_action(*argv))
    acting = asyncio.create_task(asked.run_action("web", "restart"))
    await until((tmp_path / "up").exists)

    acting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await acting

    assert running(str(tmp_path / "up")) == []
    [use] = await uses(db)
    assert (use.outcome, use.text) == (UseOutcome.FAILURE, "stopped at the end of its session")
    assert not asked.busy


async def test_gate_socket_answers_requests_until_it_closes(db: Database, tmp_path: Path) -> None:
    asked = gate(db, await opened(db))
    async with gateway.serve_gate(Toolbox(gate=asked), tmp_path / "gate.sock") as door:
        ran = await gate_client.run_action(str(door), "web", "restart")
        refused = await gate_client.run_action(str(door), "plex", "restart")
    over = await gate_client.run_action(str(door), "web", "restart")

    assert ran == gate_client.GateAnswer(
        UseOutcome.UNCONFIRMED,
        "done; not confirmed: Web has no checks",
        use=1,
        attempts=1,
        exit_code=0,
    )
    assert refused == gate_client.GateAnswer(UseOutcome.REFUSED, "'plex' is not in services.yaml")
    assert over.outcome is UseOutcome.REFUSED
    assert over.words.startswith("the gate does not answer: ")
    assert not door.exists()


async def test_gate_client_raises_if_the_gate_closes_without_an_answer(tmp_path: Path) -> None:
    server = await asyncio.start_unix_server(lambda _, writer: writer.close(), tmp_path / "gate")
    async with server:
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            await gate_client.run_action(str(tmp_path / "gate"), "web", "restart")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (b"nonsense", "the request is not JSON"),
        (b"[" * 20_000, "the request is not JSON"),
        (b"\xff\xfe", "the request is not JSON"),
        (b"{}", "the request must name a tool and its input, or a service and an action"),
        (b"null", "the request must name a tool and its input, or a service and an action"),
        (
            b'{"service": 1, "action": "restart"}',
            "the request must name a tool and its input, or a service and an action",
        ),
        (
            b'{"service": "web", "action": null}',
            "the request must name a tool and its input, or a service and an action",
        ),
        (b'{"service": "", "action": ""}', "'' is not in services.yaml"),
    ],
    ids=lambda each: str(each)[:30],
)
async def test_gate_socket_refuses_an_invalid_request_and_answers_the_next(
    db: Database, tmp_path: Path, question: bytes, words: str
) -> None:
    asked = gate(db, await opened(db))
    async with gateway.serve_gate(Toolbox(gate=asked), tmp_path / "gate.sock") as door:
        reader, writer = await asyncio.open_unix_connection(door)
        writer.write(question + b"\n" + b'{"service": "web", "action": "restart", "again": "x"}\n')
        answers = [json.loads(await reader.readline()) for _ in range(2)]
        writer.close()
        await writer.wait_closed()

    assert [(each["outcome"], each["words"]) for each in answers] == [
        ("refused", words),
        ("unconfirmed", "done; not confirmed: Web has no checks"),
    ]


async def test_gate_socket_closes_on_an_oversized_request(db: Database, tmp_path: Path) -> None:
    async with gateway.serve_gate(
        Toolbox(gate=gate(db, await opened(db))), tmp_path / "gate.sock"
    ) as door:
        reader, writer = await asyncio.open_unix_connection(door)
        writer.write(b"x" * 200_000)
        answer = await asyncio.wait_for(reader.read(), WAIT_SECONDS)
        writer.close()

    assert answer == b""


async def test_running_action_ends_when_the_gate_socket_closes(
    db: Database, tmp_path: Path
) -> None:
    argv = (sys.executable, "-c", DAEMON, str(tmp_path / "up"), "stays")
    asked = gate(db, await opened(db), services=with_action(*argv))
    async with gateway.serve_gate(Toolbox(gate=asked), tmp_path / "gate.sock") as door:
        waiting = asyncio.create_task(gate_client.run_action(str(door), "web", "restart"))
        await until((tmp_path / "up").exists)

    with pytest.raises(BrokenPipeError):
        await waiting
    [use] = await uses(db)
    assert (use.outcome, use.text) == (UseOutcome.FAILURE, "stopped at the end of its session")
    assert running(str(tmp_path / "up")) == []
    assert os.listdir(tmp_path).count("gate.sock") == 0


def test_remove_sockets_removes_only_gate_sockets(tmp_path: Path) -> None:
    for name in ("gate-1.sock", "gate-27.sock", "feed-12.sock", "gate.txt"):
        (tmp_path / name).touch()

    gateway.remove_sockets(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["feed-12.sock", "gate.txt"]
