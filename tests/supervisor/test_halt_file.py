"""The halt file while the leader waits: its creation and removal are recorded, with few reads."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import halts
from lamplighter.supervisor import daemon
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.usecases.sessions import halt
from lamplighter.usecases.sessions.halt import HaltControl, HaltSource

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("commits", [0, 1], ids=["commits unknown", "commits known"])
async def test_halt_file_creation_and_removal_are_recorded(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    reads: list[int] = []
    record = halt.record_file
    monkeypatch.setattr(
        halt, "record_file", lambda *given, **more: (reads.append(1), record(*given, **more))[1]
    )
    monkeypatch.setattr(daemon, "POLL_SECONDS", 0.01)
    context = SessionContext(
        db=db,
        now=lambda: NOON,
        redact=Redactor(),
        files=SessionFiles(tmp_path),
        engines={},
        sockets=tmp_path,
        halt_control=HaltControl(tmp_path / "HALT"),
    )

    async def recorded(*, active: bool) -> None:
        async with asyncio.timeout(60):
            while True:
                if (await halts.get_active(db, HaltSource.FILE) is not None) is active:
                    return
                await asyncio.sleep(0.01)

    version = [commits]
    running = asyncio.create_task(daemon.record_file_changes(context, lambda: version[-1]))
    try:
        for _ in range(2):
            (tmp_path / "HALT").write_text("a flood")
            await recorded(active=True)
            (tmp_path / "HALT").unlink()
            await recorded(active=False)
        await asyncio.sleep(0.1)
        before = len(reads)
        await asyncio.sleep(0.3)
        assert (len(reads) == before) is bool(commits)

        (tmp_path / "HALT").write_text("a flood")
        await recorded(active=True)
        if commits:  # the rows were changed by another process, the file was not
            await _released(db)
            version.append(2)
            await recorded(active=True)
    finally:
        running.cancel()


async def _released(db: Database) -> None:
    async with writing(db):
        found = await halts.get_active(db, HaltSource.FILE)
        assert found is not None
        await halts.release(db, found.id, by="another", now=NOON)
