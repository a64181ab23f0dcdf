"""A month of a small homelab, stored by the real use cases: for pictures.

`write` fills an empty home: rounds every four hours, three chains, contradictions, cooldowns.
"""

import asyncio
import json
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from contexts import DEFAULTS, context, ingesting, learning
from lamplighter.config.services import load
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Action, ActionKind, Services
from lamplighter.domain.sessions.session import Session, SessionPlan, Status, Trigger
from lamplighter.domain.sessions.transcript import Finished, Line
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import requests
from lamplighter.repository.upkeep import leases, migrate
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.services import act, check_runs
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.sessions.chain import next_plan
from lamplighter.usecases.sessions.sessions import SessionEnd, begin, finish

DAYS: Final = 45
EVERY: Final = timedelta(hours=4)
MINUTE: Final = timedelta(minutes=1)
FINE: Final = timedelta(days=2)
"""The days with results every ten minutes; earlier days have only those of each round."""
CHECKS: Final = {
    "jellyfin": "http",
    "caddy": "http",
    "postgres": "tcp",
    "nextcloud": "http",
    "adguard": "dns",
    "grafana": "http",
    "vaultwarden": "tls",
}
MONTH: Final = tomllib.loads((Path(__file__).parent / "month.toml").read_text())
SERVICES: Final = (Path(__file__).parent / "month.yaml").read_text()


@dataclass(slots=True)
class Home:
    """A home during the writing of its month, and the current simulated time."""

    path: Path
    db: Database
    services: Services
    now: datetime
    sizes: dict[int, int] = field(default_factory=dict)

    async def say(self, session: Session, *lines: dict[str, Any]) -> None:
        """Let a session print these lines, and ingest them."""
        directory = self.path / "sessions"
        directory.mkdir(exist_ok=True)
        start = self.sizes.get(session.id, 0)
        taken = []
        with (directory / f"{session.output}.jsonl").open("ab") as out:
            for line in lines:
                content = json.dumps(line).encode()
                out.write(content + b"\n")
                taken.append(Line(start, start + len(content) + 1, content))
                start = taken[-1].end
        self.sizes[session.id] = start
        names = [each.name for each in self.services]
        ingest = ingesting(self.db, session, build_redactor([]), names)
        await session_lines.ingest(ingest, taken, now=self.now)

    async def results(self, down: str = "", detail: str = "connection refused") -> None:
        """Store a result of each check, and process the consequences."""
        here = context(self.db, self.now)
        await check_runs.record(
            here, [self._result(name, down, detail) for name in CHECKS], self.services
        )
        await follow(self.db, self.services, now=self.now)
        await learn(here, self.services)

    def _result(self, name: str, down: str, detail: str) -> CheckRun:
        n = int(self.now.timestamp()) // 60
        took = 12.0 + (n * 7 + len(name) * 13) % 30 + 40 * (name == "nextcloud")
        return CheckRun(
            service=name,
            check=CHECKS[name],
            kind=CHECKS[name],
            at=self.now,
            state=PointState.FAILED if name == down else PointState.PASSED,
            latency_ms=None if name == down else took,
            detail=detail if name == down else "",
        )

    async def fails(self, down: str, *, detail: str = "connection refused") -> None:
        """Let the checks of a service fail until an incident is open."""
        for _ in range(3):
            await self.results(down, detail)
            self.now += MINUTE

    async def begin(self, plan: SessionPlan) -> Session:
        """Open a session, for the oldest waiting request if there is one."""
        request = await requests.next_queued(self.db)
        if request:
            plan = replace(
                plan,
                tier=request.tier,
                trigger=request.trigger,
                services=request.services,
                prompt=request.prompt,
            )
        opened = await begin(
            self.db, plan, services=self.services, epoch=1, request=request, now=self.now
        )
        await self.say(opened.session, {"type": "system", "subtype": "init"})
        return opened.session

    async def end(self, session: Session, words: str, *, cost: float, turns: int) -> Session:
        """End a session successfully."""
        report = {"type": "result", "is_error": False, "num_turns": turns, "result": words}
        await self.say(session, {**report, "total_cost_usd": cost})
        finished = Finished(is_error=False, response=words, turns=turns, cost_usd=cost)
        ending = SessionEnd(status=Status.COMPLETED, exit_code=0, finished=finished, texts=(words,))
        return await finish(
            context(self.db, self.now, build_redactor([])), DEFAULTS, session, ending
        )


def text(words: str) -> dict[str, Any]:
    """Return an assistant's text as a line of the stream."""
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}


def tool(name: str, asked: dict[str, Any], answer: str, **found: Any) -> list[dict[str, Any]]:
    """Return a tool use and its result."""
    use = {"type": "tool_use", "id": "t1", "name": name, "input": asked}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": answer}
    back = {"type": "user", "message": {"content": [result]}}
    return [
        {"type": "assistant", "message": {"content": [use]}},
        {**back, "tool_use_result": found} if found else back,
    ]


def look(service: str, *, ok: bool, n: int) -> list[dict[str, Any]]:
    """Return a check of a service as lines of the stream."""
    kind = CHECKS[service]
    took = 12.0 + (n * 7) % 30
    words = f"{service}: {kind} ok in {took:.0f} ms" if ok else f"{service}: connection refused"
    found = {"service": service, "check": kind, "kind": kind, "ok": ok, "latency_ms": took}
    return tool(
        "check", {"service": service}, words, **found, detail="" if ok else "connection refused"
    )


async def _round(home: Home, day: int, n: int) -> None:
    down = MONTH["bad"].get(str(day), "") if n % 6 == 3 else ""
    if down:
        await home.fails(down)
    else:
        await home.results()
    session = await home.begin(SessionPlan(engine="probe", trigger=Trigger.SCHEDULED))
    lines = [each for name in CHECKS for each in look(name, ok=name != down, n=n)]
    if day == 19 and n % 6 == 1:
        lines.append(text("[EVENT:warning:nextcloud] Answers in 8.2 s"))
    if n % 6 == 4 and day % 5 == 0:
        lines.append(text("[EVENT:warning:vaultwarden] Certificate expires in 12 days"))
    if down:
        lines.append(text(f"[EVENT:critical:{down}] Connection refused"))
        lines.append(text(f"[ESCALATE:{down}] Refuses connections since the last round"))
    elif n % 6 == 0:
        lines.append(text("All seven services answered. [EVENT:info] A quiet round"))
    if n % 6 == 2 and str(day) in MONTH["said"]:
        lines.append(text(f"I looked twice to be sure.\n{MONTH['said'][str(day)]}"))
    await home.say(session, *lines)
    home.now += timedelta(seconds=50)
    ended = await home.end(session, "Round done.", cost=0.004, turns=3)
    if down:
        await _chain(home, ended, down)


async def _chain(home: Home, session: Session, service: str) -> None:
    for tier in (2, 3):
        session = await home.begin(await next_plan(home.db, session))
        home.now += timedelta(seconds=70)
        if tier == 2:
            words = f"The container of {service} has stopped. [ESCALATE:{service}] Restart it"
            await home.say(
                session,
                *tool("Bash", {"command": "docker ps -a"}, "Exited (137)\n" * 40),
                text(words),
            )
        else:
            await _mend(home, session, service)
        session = await home.end(session, f"{service} looked into.", cost=0.03, turns=6)
    for _ in range(2):
        home.now += MINUTE
        await home.results()


async def _mend(home: Home, session: Session, service: str) -> CooldownUse:
    action = Action(name="restart", kind=ActionKind.RESTART, argv=("docker", "restart", service))
    use = await act.reserve(home.db, session, service, action, now=home.now)
    home.now += timedelta(seconds=62)
    use = await act.settle(
        home.db, use, UseOutcome.SUCCESS, text="Healthy after 61 s", now=home.now
    )
    await home.say(session, text(f"[EVENT:info:{service}] Restarted; healthy after 61 s"))
    return use


async def _write(path: Path, url: str, now: datetime) -> None:
    db = Database(url)
    await db.connect()
    try:
        home = Home(path, db, load(path / "services.yaml"), now - timedelta(days=DAYS))
        async with writing(db):
            await leases.acquire(
                db,
                pid=1,
                engine="exec",
                interval_seconds=EVERY.total_seconds(),
                dry_run=False,
                now=home.now,
            )
        for each in MONTH["written"]:
            candidate = Candidate(
                category=Category(each["category"]),
                service=each.get("service"),
                observation=each["observation"],
                tier=0,
                session_id=None,
                source=Source.OPERATOR,
            )
            await remember(learning(db, build_redactor([])), candidate, now=home.now)
        rounds = int(timedelta(days=DAYS) / EVERY)
        for n in range(rounds):
            home.now = now - timedelta(days=DAYS) + n * EVERY
            await _round(home, DAYS - n * EVERY // timedelta(days=1), n)
            until = min(now - timedelta(hours=1), now - timedelta(days=DAYS) + (n + 1) * EVERY)
            while now - home.now < FINE and home.now + 10 * MINUTE < until:
                home.now += 10 * MINUTE
                await home.results()
        home.now = now - timedelta(minutes=55)
        await _round(home, 0, 3)
        while home.now + MINUTE < now - timedelta(minutes=3):
            home.now += MINUTE
            await home.results()
        home.now += MINUTE
        await home.fails("nextcloud", detail="no answer within 5 s")
    finally:
        await db.disconnect()


def write(home: Path, now: datetime | None = None) -> None:
    """Write the month that ends at `now` into an empty home, with its services.yaml."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "services.yaml").write_text(SERVICES)
    url = f"sqlite:///{home / 'lamplighter.db'}"
    migrate.upgrade(url)
    asyncio.run(_write(home, url, now or datetime.now(UTC) - timedelta(minutes=12)))
