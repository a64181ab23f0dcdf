"""A connection to PostgreSQL that is lost before it reports a commit: nothing is stored twice."""

import math
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from examples import NOON, rows, session, stream

from contexts import ingesting
from lamplighter.repository import Database
from lamplighter.repository.store.driver import OperationalError
from lamplighter.usecases.ingest.session_lines import ingest_some
from lamplighter.usecases.ingest.steps import StepQueue
from lost_answers import losing


class Losses:
    """Decides that the answer of the next commit is lost."""

    due = False

    def __call__(self) -> bool:
        due, self.due = self.due, False
        return due


@pytest.fixture
def losses() -> Losses:
    return Losses()


@pytest.fixture
async def lossy(postgres_url: str, losses: Losses) -> AsyncIterator[Database]:
    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        async with losing(postgres_url, Path(there), losses) as url, Database(url) as database:
            yield database


async def test_markers_of_a_commit_without_an_answer_are_stored_once(
    lossy: Database, losses: Losses
) -> None:
    one = await session(lossy)
    feed = StepQueue(ingesting(lossy, one), stream("[EVENT:info:web] Slow today"))
    feed.ingest.pace.seconds = math.inf
    losses.due = True

    with pytest.raises(OperationalError):
        await ingest_some(feed, now=NOON)
    result = await ingest_some(feed, now=NOON)

    [ended] = await rows(lossy, "sessions")
    assert (result.events, ended["events"], len(await rows(lossy, "events"))) == (1, 1, 1)
    assert feed.empty
