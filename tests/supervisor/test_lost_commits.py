"""PostgreSQL commits, and the connection is lost before it reports that: nothing runs twice."""

import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from inline_supervisor import leading

from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.repository.store.driver import OperationalError
from lost_answers import losing

MARKERS = "[EVENT:info:web] Slow today\\n[ESCALATE:web] Fails since noon"


class Losses:
    """Loses the answers of a third of the commits while it is on."""

    on = False

    def __init__(self) -> None:
        self._chance = random.Random(5)

    def __call__(self) -> bool:
        return self.on and self._chance.random() < 1 / 3


@pytest.fixture
def losses() -> Losses:
    return Losses()


@pytest.fixture
async def lossy(postgres_url: str, losses: Losses) -> AsyncIterator[Database]:
    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        async with losing(postgres_url, Path(there), losses) as url, Database(url) as database:
            yield database


async def test_a_chain_runs_once_if_commits_are_not_reported(
    lossy: Database, losses: Losses, tmp_path: Path
) -> None:
    services = Services(path="here", items=(Service(name="web"),))
    async with leading(lossy, tmp_path, "lines", MARKERS, services=services) as bench:
        losses.on, worked = True, True
        while worked:
            with suppress(OperationalError):  # as the supervisor does
                worked = await bench.supervisor.step()
        losses.on = False
        sessions, events = await bench.rows("sessions"), await bench.rows("events")

    ended = [(row["tier"], row["status"], row["events"]) for row in sessions]
    assert ended == [(1, "escalated", 2), (2, "escalated", 2), (3, "completed", 2)]
    assert [row["text"] for row in events].count("Slow today") == len(sessions)
