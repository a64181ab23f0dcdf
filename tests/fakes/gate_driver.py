"""Uses the gate in separate processes, some of which are killed during their actions.

`race HOME URL SESSION…` sends one request for each session, all at the same time, after a line on
stdin. `kill HOME URL` reads `POINT SERVICE ACTION` per line: each is a separate supervisor that
leads, opens a session, sends a request, and is killed `before` its action runs or `after` that.
"""

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamplighter import clock
from lamplighter.domain.actions.policy import UNDER_WAY
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.engines.bounded import ProgramResult, run_bounded
from lamplighter.repository import Database
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.database import is_postgres
from lamplighter.repository.upkeep.lease_postgres import PostgresLock
from lamplighter.supervisor.actions.gate import Execute, Gate, GateVerdict
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import Lock
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.usecases.context import Context
from lamplighter.usecases.sessions import sessions as lifecycle

PAUSE_SECONDS = 0.5
NAMES = tuple(f"svc{number}" for number in range(34))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def acted(home: Path, service: str, action: str) -> Path:
    """Return the file to which each run of an action adds a line."""
    return home / f"{service}-{action}.acted"


def declared(home: Path) -> Services:
    """Return services whose actions record each of their runs."""
    return Services(
        tuple(
            Service(name=name, actions=tuple(_action(home, name, kind) for kind in ActionKind))
            for name in NAMES
        )
    )


def _action(home: Path, service: str, kind: ActionKind) -> Action:
    argv = ("/bin/sh", "-c", 'echo ran >> "$1"', "sh", str(acted(home, service, kind)))
    return Action(name=kind.value, kind=kind, argv=argv)


@dataclass(frozen=True)
class Dying:
    """Runs a program, and kills this process before or after it."""

    point: str

    async def __call__(self, *argv: Any, **more: Any) -> ProgramResult:
        if self.point == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        await run_bounded(*argv, **more)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")


async def race(home: Path, url: str, numbers: list[int]) -> None:
    async with Database(url) as db:
        found = [await sessions.get(db, number) for number in numbers]
        gates = [_gate(db, home, session, run_bounded) for session in found if session]
        say("ready")
        sys.stdin.readline()
        verdicts = await asyncio.gather(*map(_patiently, gates))
        say(json.dumps([each.outcome for each in verdicts]))


async def _patiently(gate: Gate) -> GateVerdict:
    """Request a restart until no other one is running."""
    while True:
        verdict = await gate.run_action("svc0", "restart")
        if verdict.text != UNDER_WAY:
            return verdict
        await asyncio.sleep(PAUSE_SECONDS)


async def ask(home: Path, url: str, point: str, service: str, action: str) -> None:
    async with Database(url) as db:
        here = SessionContext(
            db=db,
            files=SessionFiles(home / "sessions"),
            engines={},
            redact=Redactor(),
            now=clock.now,
            sockets=home,
        )
        lock = PostgresLock(url) if is_postgres(url) else Lock(home / "lock")
        supervisor = Supervisor(here, lambda: declared(home), lock)
        while not await supervisor.lead():  # noqa: ASYNC110 - nobody tells that a killed one is gone
            await asyncio.sleep(0.01)
        begun = await lifecycle.begin(
            db,
            SessionPlan(tier=3, engine="exec", services=(service,)),
            services=declared(home),
            epoch=supervisor.context.epoch,
            now=clock.now(),
        )
        verdict = await _gate(db, home, begun.session, Dying(point)).run_action(service, action)
        say(verdict.outcome)


def _gate(db: Database, home: Path, session: Session, execute: Execute) -> Gate:
    return Gate(
        here=Context(db=db, now=clock.now, redact=Redactor()),
        session=session,
        services=declared(home),
        execute=execute,
    )


def kill(home: Path, url: str) -> None:
    """Fork a supervisor for each line, before anything is opened."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                asyncio.run(ask(home, url, *line.split()))
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        ended = os.waitstatus_to_exitcode(status)
        if ended:
            say("killed" if ended == -signal.SIGKILL else f"failed with {ended}")


if __name__ == "__main__":
    if sys.argv[1] == "race":
        asyncio.run(race(Path(sys.argv[2]), sys.argv[3], [int(each) for each in sys.argv[4:]]))
    else:
        kill(Path(sys.argv[2]), sys.argv[3])
