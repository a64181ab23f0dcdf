"""A service as a whole, on both databases: each part equals the result of its own query."""

from datetime import timedelta

from happening import HOUR, MINUTE, NOON, SERVICES, WEB, checked, failing

from contexts import learning
from lamplighter.domain.limits import UPTIME_DAYS
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.services.latency import LatencyPeriod
from lamplighter.domain.services.series import PointState
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.services.check_history import read_uptime
from lamplighter.usecases.services.check_trends import read_latency
from lamplighter.usecases.system import service_detail

EVERY = MemoryFilter()
SPEEDS = ("Starts in 60 s", "Logs to /var/log/web", "Fails on Mondays")
TOPICS = (*SPEEDS, "Needs its cache", "Listens on 8080", "Is behind a proxy", "Uses 2 GB")


async def observe(db: Database, text: str, service: str, confidence: float) -> int:
    candidate = Candidate(
        category=Category.BEHAVIOR,
        service=service,
        observation=text,
        confidence=confidence,
        tier=0,
        session_id=None,
    )
    return (await remember(learning(db), candidate, now=NOON)).memory.id


async def test_a_service_has_its_uptime_latency_incidents_and_memories(db: Database) -> None:
    opened = []
    for n in range(6):
        at = NOON + 2 * n * HOUR
        opened.append((await failing(db, at)).id)
        for later in (1, 2):
            await checked(db, PointState.PASSED, at + later * MINUTE, "Web")
    for n, text in enumerate(TOPICS):
        await observe(db, text, "Web", 0.9 - n / 10)
    await observe(db, "Is the master", "db", 0.9)
    now = NOON + 12 * HOUR

    async with reading(db):
        detail = await service_detail.read(db, WEB, SERVICES, readable=EVERY, now=now)
        uptime = await read_uptime(db, WEB, now=now)
        latency = await read_latency(db, WEB, LatencyPeriod.DAY, now=now)

    assert detail.condition.state == "ok"
    assert detail.uptime == {name: uptime[name] for name in UPTIME_DAYS}
    assert detail.uptime["day"] == 66.667
    assert detail.latency == latency
    assert sum(latency["checks"][0]["count"]) == 18
    assert [each.id for each in detail.incidents.items] == opened[:0:-1]
    assert detail.incidents.position
    assert detail.strongest is not None
    assert [each.observation for each in detail.strongest] == list(TOPICS[:5])


async def test_memories_of_a_service_are_those_that_the_caller_may_read(db: Database) -> None:
    number = await observe(db, "Starts in 60 s", "Web", 0.9)
    later = NOON + timedelta(hours=1)

    async with reading(db):
        details = [
            await service_detail.read(db, SERVICES.items[0], SERVICES, readable=each, now=later)
            for each in (EVERY, MemoryFilter(finds="ops"), MemoryFilter(finds="shop"), None)
        ]

    [memory] = await memories.list_by_ids(db, [number])
    assert [each.strongest for each in details] == [[memory], [memory], [], None]
    assert details[0].latency["checks"] == []
    assert set(details[0].uptime.values()) == {None}
