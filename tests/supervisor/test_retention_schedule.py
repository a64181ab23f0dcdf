"""Output files are removed with the rows that they belong to."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contexts import context
from lamplighter.domain.sessions.retention import Retention
from lamplighter.domain.sessions.session import Session, SessionPlan, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.supervisor.beside import RetentionSchedule
from lamplighter.supervisor.run.files import SessionFiles

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)


async def ran(db: Database, files: SessionFiles, at: datetime) -> Session:
    async with writing(db):
        session = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=at)
        ended = await sessions.end(db, session.id, Status.COMPLETED, now=at)
    assert ended is not None
    files.create(ended).write_text("{}\n")
    files.path(ended).with_suffix(".times").write_text("3 0\n")
    os.utime(files.path(ended), (0, 0))
    return ended


async def test_retention_removes_files_of_old_and_removed_sessions(
    db: Database, tmp_path: Path
) -> None:
    files = SessionFiles(tmp_path / "sessions")
    old, new = await ran(db, files, NOON - 400 * DAY), await ran(db, files, NOON - DAY)
    last = await ran(db, files, NOON)
    newer = files.directory / "4.jsonl"  # of a session that a restored database does not have
    newer.touch()
    os.utime(newer, (0, 0))
    async with writing(db):
        await db.execute(sessions.sessions.delete().where(sessions.sessions.c.id == new.id))

    clock_set = RetentionSchedule(context(db, NOON), files, Retention(), lambda at: False)
    await clock_set.step()
    assert files.path(old).exists()

    await RetentionSchedule(context(db, NOON), files, Retention(), lambda at: True).step()

    assert sorted(files.directory.iterdir()) == [
        *(files.path(last), files.path(last).with_suffix(".times"), newer),
    ]
