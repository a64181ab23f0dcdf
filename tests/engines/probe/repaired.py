"""Failing services, and sessions that repair them through the real gate."""

import asyncio
import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from contexts import OPEN, context, ingesting
from lamplighter.domain.services.check import HttpCheck
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.probe import tiers
from lamplighter.engines.probe.facts import MemoryFact, RoundFacts
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns
from lamplighter.repository.sessions import sessions
from lamplighter.repository.upkeep import leases
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.supervisor.tools import gateway
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.ingest import session_lines

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
QUICK: dict[str, Any] = {"timeout": 2.0, "retries": 0}
RESTART, REDEPLOYMENT = ActionKind.RESTART, ActionKind.REDEPLOYMENT
SLOW = """
import pathlib, sys, time
path = pathlib.Path(sys.argv[1])
path.with_suffix(".runs").open("a").write("ran\\n")
runs = path.with_suffix(".runs").read_text().count("ran")
if runs < int(sys.argv[2]):
    sys.exit("not yet")
path.touch()
"""


def mending(path: Path, *, from_run: int = 1, kind: ActionKind = RESTART) -> Action:
    """Return an action that makes a service healthy, the first time or later."""
    argv = (sys.executable, "-c", SLOW, str(path), str(from_run))
    return Action(name=kind.value, kind=kind, argv=argv)


def useless(kind: ActionKind = RESTART) -> Action:
    return Action(name=kind.value, kind=kind, argv=("/bin/sh", "-c", "echo no; exit 3"))


async def started(
    serve, tmp_path: Path, name: str, *actions: Action, needs: Sequence[str] = ()
) -> Service:
    """Return a service that is healthy once its file exists."""
    path = tmp_path / name

    async def answer(head: str, writer: asyncio.StreamWriter) -> None:
        status = "200 OK" if path.exists() else "503 Service Unavailable"
        lines = [f"HTTP/1.1 {status}", "Content-Length: 0", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode())

    port = await serve(answer)
    check = HttpCheck(name="http", url=f"http://127.0.0.1:{port}/", **QUICK)
    return Service(name=name, checks=(check,), actions=actions, depends_on=tuple(needs))


async def opened(db: Database, *, dry_run: bool = False) -> Session:
    async with writing(db):
        leader = await leases.get(db) or await leases.acquire(
            db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=NOON
        )
        plan = SessionPlan(tier=3, engine="probe", dry_run=dry_run)
        return await sessions.insert(db, plan, model=None, epoch=leader.epoch, now=NOON)


class Told:
    """The output of a session."""

    def __init__(self) -> None:
        self.lines: list[Mapping[str, Any]] = []
        self.summary = ""

    @property
    def words(self) -> list[str]:
        """The text of the session, without times."""
        blocks = self._blocks()
        said = [block["text"] for block in blocks if block["type"] == "text"]
        return [re.sub(r"after [\d.]+ s", "after N s", each) for each in said]

    def used(self, tool: str) -> list[dict[str, Any]]:
        """Return the inputs of a tool, one per call."""
        blocks = self._blocks()
        return [each["input"] for each in blocks if each.get("name") == tool]

    def measured(self) -> list[dict[str, Any]]:
        found = [line["tool_use_result"] for line in self.lines if line["type"] == "user"]
        return [each for each in found if each and "healthy_after" in each]

    def _blocks(self) -> list[dict[str, Any]]:
        said = [line for line in self.lines if line["type"] == "assistant"]
        return [line["message"]["content"][0] for line in said]


async def mended(
    db: Database,
    tmp_path: Path,
    *services: Service,
    known: Sequence[Service] = (),
    dry_run: bool = False,
    fix_only: bool = False,
    **facts: Any,
) -> Told:
    told, declared = Told(), (*services, *known)
    gate = Gate(
        here=context(db, NOON),
        session=await opened(db, dry_run=dry_run),
        services=Services(declared),
    )
    async with gateway.serve_gate(Toolbox(gate=gate), tmp_path / "gate.sock") as door:
        asked = ProbeRequest(
            session=str(gate.session.id),
            tier=3,
            services=services,
            facts=RoundFacts(now=NOON, **facts),
            declared=declared,
            gate=str(door),
            dry_run=dry_run,
            fix_only=fix_only,
        )
        told.summary = await tiers.run(asked, told.lines.append)
    ingest = ingesting(db, gate.session, OPEN, services=Services(declared), now=NOON)
    lines = [json.dumps(each).encode() for each in told.lines]
    ends = [*accumulate(len(each) + 1 for each in lines)]
    await session_lines.ingest(ingest, map(Line, [0, *ends], ends, lines), now=NOON)
    return told


def memory(observation: str, category: str = "timing", **more: Any) -> MemoryFact:
    given = {"id": 5, "confidence": 0.7, "updated_at": NOON, "service": "web"} | more
    return MemoryFact(category=category, observation=observation, **given)


def used(number: int, *, attempts: int = 1, took: float | None = None) -> CooldownUse:
    return CooldownUse(
        id=number,
        service="web",
        action=RESTART,
        outcome=UseOutcome.SUCCESS,
        created_at=NOON - timedelta(hours=number),
        attempts=attempts,
        healthy_after=took,
    )


async def outcomes(db: Database) -> list[tuple[str, str, int]]:
    found = await cooldowns.uses_since(db, NOON - timedelta(days=9))
    return [(use.service, use.outcome, use.attempts) for use in found]
