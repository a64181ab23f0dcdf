"""A supervisor in the test's own process, whose engines are real processes."""

import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contexts import changed, session_context
from lamplighter import clock
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session, SessionPlan, Trigger
from lamplighter.engines import Command, EngineInput, Trait
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import requests, sessions
from lamplighter.repository.store import tables
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import Lock

ENGINE = Path(__file__).parents[1] / "fakes" / "engine.py"


def command(*words: str) -> str:
    """Return the command of a fake engine with this script."""
    return shlex.join([sys.executable, "-S", str(ENGINE), *words])


class ModelEngine(ExecEngine):
    """An engine that counts as one with a model; records its tasks."""

    name = "model"
    traits = frozenset({Trait.MODEL})

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.tasks: list[EngineInput] = []

    def command(self, task: EngineInput) -> Command:
        self.tasks.append(task)
        return super().command(task)


@dataclass
class Workbench:
    """A supervisor that is the leader, and its results."""

    supervisor: Supervisor
    engine: ModelEngine

    @property
    def db(self) -> Database:
        return self.supervisor.db

    def change(self, **more: Any) -> None:
        self.supervisor.context = changed(self.supervisor.context, **more)

    def runs(self, *words: str) -> None:
        """Replace the script of the fake engine."""
        self.engine = ModelEngine(command(*words))
        engines = {"model": self.engine, "exec": ExecEngine(command(*words))}
        self.change(engines=engines)

    async def make(self, *, engine: str = "model", **more: Any) -> Session:
        """Process a request for a session and return the last session."""
        async with writing(self.db):
            asked = SessionPlan(trigger=Trigger.MANUAL, **more)
            await requests.insert(self.db, asked, engine=engine, now=clock.now())
        assert await self.supervisor.step()
        return await self.last()

    async def last(self) -> Session:
        found = await self.rows("sessions")
        session = await sessions.get(self.db, found[-1]["id"])
        assert session is not None
        return session

    async def rows(self, table: str) -> list[dict[str, Any]]:
        found = getattr(tables, table)
        return [dict(row) for row in await self.db.fetch_all(found.select().order_by(found.c.id))]


@asynccontextmanager
async def leading(
    db: Database, path: Path, *words: str, services: Services | None = None, **more: Any
) -> AsyncIterator[Workbench]:
    """Yield a supervisor that is the leader, with a fake engine that runs this script."""
    context = session_context(db, path, **{"engine": "model", **more})
    declared = services or Services(path="here")
    supervisor = Supervisor(context, lambda: declared, Lock(path / "lock"))
    assert await supervisor.lead()
    bench = Workbench(supervisor, ModelEngine(""))
    bench.runs(*words)
    yield bench
    await supervisor.step_down()
