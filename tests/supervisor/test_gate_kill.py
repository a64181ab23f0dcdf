"""The cooldown under concurrent requests and kills: real processes, one database."""

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from homes import Home

import direct_writes
import nursery
from lamplighter import clock
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.database import is_postgres
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.sessions import sessions as lifecycle
from living import free_port
from thorough import ALL, examples

DRIVER = Path(__file__).parents[1] / "fakes" / "gate_driver.py"
SERVICES = tuple(f"svc{number}" for number in range(examples(34, part=16)))
SECONDS = 280
ASKED = {"restart": 3, "redeployment": 2}
SLOW = """
import os, signal, sys, time
if os.fork() == 0:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with open("acted", "a") as file:
        file.write("ran\\n")
    time.sleep(5)
    os._exit(0)
os.wait()
"""


@pytest.fixture(params=["sqlite", "postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a new database, on SQLite or PostgreSQL."""
    return str(request.getfixturevalue(request.param))


def sound(url: str) -> None:
    """Check the integrity of a SQLite file; PostgreSQL recovers its own."""
    assert is_postgres(url) or direct_writes.run(url, "PRAGMA integrity_check") == [("ok",)]


def driven(*words: object) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return nursery.python(str(DRIVER), *map(str, words), **pipes, text=True)


def runs(home: Path, service: str, action: str) -> int:
    """Return how often an action ran, according to its own records."""
    path = home / f"{service}-{action}.acted"
    return path.read_text().count("ran") if path.exists() else 0


async def opened(db: Database, count: int) -> list[int]:
    """Open sessions that may all act."""
    now = clock.now()
    async with writing(db):
        leader = await leases.acquire(
            db, pid=1, engine="exec", interval_seconds=60, dry_run=False, now=now
        )
        plan = SessionPlan(tier=3, engine="exec")
        made = [
            await sessions.insert(db, plan, model=None, epoch=leader.epoch, now=now)
            for _ in range(count)
        ]
    return [each.id for each in made]


async def test_concurrent_requests_in_two_processes_run_the_action_twice(
    db: Database, url: str, tmp_path: Path
) -> None:
    numbers = await opened(db, 20)
    both = [driven("race", tmp_path, url, *some) for some in (numbers[:10], numbers[10:])]
    try:
        for each in both:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        outcomes: list[str] = []
        for each in both:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        for each in both:
            said, _ = each.communicate(timeout=SECONDS)
            outcomes += json.loads(said)
    finally:
        for each in both:
            each.kill()
            each.wait()

    assert Counter(outcomes) == {"unconfirmed": 2, "refused": 18}
    assert runs(tmp_path, "svc0", "restart") == 2


def asked(home: Path, url: str, wishes: Sequence[tuple[str, str, str]]) -> list[str]:
    """Run each request in a separate supervisor, and return the outcomes."""
    driver = driven("kill", home, url)
    try:
        said, _ = driver.communicate("".join(f"{' '.join(each)}\n" for each in wishes), SECONDS)
    finally:
        driver.kill()
        driver.wait()
    return said.splitlines()


async def test_repeated_kills_never_exceed_the_cooldown_limit(
    db: Database, url: str, tmp_path: Path
) -> None:
    chance = random.Random(2026)
    wishes = [
        (chance.choice(("before", "after")), service, action)
        for service in SERVICES
        for action, count in ASKED.items()
        for _ in range(count)
    ]
    chance.shuffle(wishes)
    once_more = [("after", service, action) for service in SERVICES for action in ASKED]

    came = asked(tmp_path, url, wishes)
    last = asked(tmp_path, url, once_more)

    assert Counter(came) == {"killed": 3 * len(SERVICES), "refused": 2 * len(SERVICES)}
    assert set(last) == {"refused"}
    ran = Counter[tuple[str, str]](
        (service, action)
        for (point, service, action), ended in zip(wishes, came, strict=True)
        if (point, ended) == ("after", "killed")
    )
    used = await cooldowns.usage_of(db, SERVICES, now=clock.now())
    for service in SERVICES:
        for found in used[service]:
            acted = runs(tmp_path, service, found.action)
            assert acted == ran[service, found.action] <= found.limit.uses
            assert (found.used, found.free) == (found.limit.uses, False)
    sound(url)


async def test_reserved_use_of_a_killed_process_is_abandoned_and_counts(
    db: Database, url: str, tmp_path: Path
) -> None:
    kills = [("before", "svc1", "restart"), ("after", "svc1", "restart")]

    came = asked(tmp_path, url, [*kills, ("before", "svc1", "restart")])

    assert came == ["killed", "killed", "refused"]
    uses = await cooldowns.of_sessions(db, [1, 2, 3])
    abandoned = "its session ended before the result was known"
    assert [(use.outcome, use.text) for use in uses[:2]] == [(UseOutcome.ABANDONED, abandoned)] * 2
    assert [use.spent for use in uses] == [True, True, False]
    assert uses[2].text.startswith("used 2 of 2 times in 4 h; next use at ")
    ended = [await sessions.get(db, number) for number in (1, 2)]
    assert [each.status for each in ended if each] == ["interrupted"] * 2
    sound(url)


@pytest.fixture
def ailing(home: Home) -> Home:
    """Return a home with a failing service whose restart is slow."""
    (home.path / "slow.py").write_text(SLOW)
    (home.path / "services.yaml").write_text(
        f"""
services:
  web:
    checks:
      - tcp: 127.0.0.1:{free_port()}
        timeout: 1s
        retries: 0
    actions:
      - restart: [{sys.executable}, {home.path}/slow.py]
        directory: {home.path}
"""
    )
    return home


def acting(home: Home) -> bool:
    return (home.path / "acted").exists() and bool(home.left_over())


@pytest.mark.parametrize("later", [0.0, 0.3, *(0.1, 0.7, 1.5) * ALL])
def test_supervisor_killed_during_an_action_leaves_the_slot_used_and_no_process(
    ailing: Home, later: float
) -> None:
    supervisor = ailing.start("supervisor")
    ailing.until(lambda: acting(ailing))
    with pytest.raises(subprocess.TimeoutExpired):
        supervisor.wait(later + 0.01)

    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    ailing.engine("lines", "[EVENT:info] here")
    ailing.start("supervisor")
    ailing.until(lambda: ailing.value("SELECT count(*) FROM sessions WHERE trigger='scheduled'"))
    ailing.until(lambda: ailing.value("SELECT epoch FROM leases") == 2)
    ailing.until(lambda: not ailing.value("SELECT 1 FROM sessions WHERE status = 'running'"))

    statuses = ailing.rows("SELECT tier, status FROM sessions WHERE id <= 3 ORDER BY id")
    assert statuses == [(1, "escalated"), (2, "escalated"), (3, "interrupted")]
    assert ailing.rows("SELECT service, action, outcome, cleared_at FROM cooldowns") == [
        ("web", "restart", "abandoned", None)
    ]
    assert (ailing.path / "acted").read_text() == "ran\n"
    assert ailing.until(lambda: not ailing.left_over())
    assert ailing.value("PRAGMA integrity_check") == "ok"


async def test_running_action_ends_when_its_session_is_stopped(ailing: Home) -> None:
    ailing.start("supervisor")
    ailing.until(lambda: acting(ailing))

    async with Database(f"sqlite:///{ailing.path}/lamplighter.db") as db:
        await lifecycle.stop(db, 3, now=clock.now())
    ailing.until(lambda: ailing.value("SELECT status FROM sessions WHERE id = 3") == "stopped")

    outcome = ailing.rows("SELECT outcome, text, attempts FROM cooldowns")
    assert outcome == [("failure", "stopped at the end of its session", 1)]
    assert ailing.until(lambda: not ailing.left_over())
