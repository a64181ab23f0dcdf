"""The exec engine: the operator's own command, given the session as JSON."""

import json
import sys
from datetime import UTC, datetime

import pytest

from lamplighter.domain.services.service import Service
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.engines import Command, EngineInput
from lamplighter.engines.exec import ExecEngine

TASK = EngineInput(
    session=Session(
        id=7,
        tier=2,
        engine="exec",
        trigger=Trigger.API,
        status=Status.RUNNING,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        dry_run=True,
    ),
    system="You look.",
    injected="## Operational Memory\n",
    message="Look at ü",
    services=(Service(name="caddy"), Service(name="plex")),
)


def test_the_command_receives_the_session_as_json_and_no_settings() -> None:
    environ = {"PATH": "/bin", "LAMPLIGHTER_HOME": "/x", "LAMPLIGHTER_EXEC_COMMAND": "y"}
    engine = ExecEngine("run 'two words' --flag", environ)

    command = engine.command(TASK)

    assert command == Command(
        argv=("run", "two words", "--flag"), stdin=command.stdin, env={"PATH": "/bin"}
    )
    assert json.loads(command.stdin) == {
        "session": 7,
        "tier": 2,
        "dry_run": True,
        "services": ["caddy", "plex"],
        "system": "You look.",
        "injected": "## Operational Memory\n",
        "prompt": "Look at ü",
        "gate": "",
    }


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (sys.executable, None),
        (f"{sys.executable} -c 'print(1)'", None),
        ("", "LAMPLIGHTER_EXEC_COMMAND is not set. Set it to the command of the exec engine."),
        (
            "  ",
            "LAMPLIGHTER_EXEC_COMMAND is not set. Set it to the command of the exec engine.",
        ),
        (
            "run 'open",
            "LAMPLIGHTER_EXEC_COMMAND cannot be split into arguments: No closing quotation.",
        ),
        (
            "/no/such/engine --flag",
            "LAMPLIGHTER_EXEC_COMMAND names '/no/such/engine',"
            " which was not found or is not executable.",
        ),
        ("''", "LAMPLIGHTER_EXEC_COMMAND names '', which was not found or is not executable."),
    ],
)
def test_probe_explains_why_the_command_cannot_run(command: str, why: str | None) -> None:
    assert ExecEngine(command, {}).probe() == why
