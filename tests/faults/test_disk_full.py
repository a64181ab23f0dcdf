"""A full disk: reads continue, writes fail with a clear error, and freed space is enough."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import httpx2
import pytest
from homes import Home
from staged import SmallDisk, client, remembered, serving

from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.supervisor.run.files import SessionFiles

WRITES = 5_000
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SESSION = Session(
    id=1,
    tier=1,
    engine="exec",
    trigger=Trigger.MANUAL,
    status=Status.COMPLETED,
    started_at=NOON,
)
NO_SPACE = {
    "type": "about:blank",
    "title": "Insufficient storage",
    "status": 507,
    "detail": (
        "The disk of the database is full. Nothing was changed. Free some space, then try again."
    ),
    "errors": [],
}

FULL = "lamplighter: The disk of the database is full. Free some space, then try again.\n"


def until_refused(asking: httpx2.Client) -> tuple[int, httpx2.Response]:
    """Write until a write is refused: the log of the database may still have space."""
    for number in range(WRITES):
        answer = remembered(asking, f"Filler {number} " + "x" * 1_000)
        if answer.status_code != 201:
            return number, answer
    raise AssertionError(f"{WRITES} writes were taken by a disk that is full")


def test_reads_continue_and_writes_fail_until_there_is_space(
    disk: SmallDisk, small_home: Home
) -> None:
    with serving(small_home) as server, client(server) as asking:
        assert remembered(asking, "Before").status_code == 201
        disk.fill()

        kept, refused = until_refused(asking)
        again = [remembered(asking, f"Again {number}") for number in range(5)]
        deleted = asking.delete("/api/v1/memories/1")
        listed = asking.get("/api/v1/memories", params={"limit": 1}).json()
        ready = asking.get("/readyz").status_code
        disk.free()
        after = remembered(asking, "After")
        total = asking.get("/api/v1/memories", params={"limit": 1}).json()["total"]

    assert (refused.status_code, refused.json()) == (507, NO_SPACE)
    assert refused.headers["content-type"] == "application/problem+json"
    assert {each.status_code for each in [*again, deleted]} == {507}
    assert (listed["total"], ready) == (kept + 1, 200)
    assert (after.status_code, total) == (201, kept + 2)
    assert small_home.value("PRAGMA integrity_check") == "ok"
    assert small_home.value("SELECT count(*) FROM history") == kept + 2
    assert small_home.value("SELECT count(*) FROM changes WHERE entity = 'memory'") == kept + 2


@pytest.mark.parametrize("looks_away", [False, True])
def test_a_session_on_a_full_disk_ends_with_a_reason(
    disk: SmallDisk, small_home: Home, *, looks_away: bool
) -> None:
    small_home.engine("numbered", "100000", "0.002")
    supervisor = small_home.start("supervisor")
    small_home.until(lambda: small_home.value("SELECT count(*) FROM memories"))

    disk.fill()
    if looks_away:  # on a busy machine it may have no turn as long as the disk is full
        supervisor.send_signal(signal.SIGSTOP)
    small_home.until(lambda: not small_home.left_over(), 60)  # its engine cannot write on
    assert supervisor.poll() is None
    disk.free()
    supervisor.send_signal(signal.SIGCONT)
    ended = "SELECT status, reason FROM sessions WHERE id = 1 AND status <> 'running'"
    small_home.until(lambda: small_home.rows(ended))
    small_home.engine("lines", "[MEMORY:timing:jellyfin] After")
    done = small_home.run("run", "--engine", "probe")

    [(status, reason)] = small_home.rows(ended)
    assert status == "failed"
    assert str(reason).endswith("No disk space was left for the session's output.")
    assert supervisor.poll() is None
    assert done.returncode == 0, done.stderr
    assert small_home.value("PRAGMA integrity_check") == "ok"
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(20) == 0


def test_a_session_requested_on_a_full_disk_runs_when_there_is_space(
    disk: SmallDisk, small_home: Home
) -> None:
    small_home.engine("lines", "[MEMORY:timing:jellyfin] Kept")
    with serving(small_home) as server, client(server) as asking:
        asked = asking.post("/api/v1/sessions", json={"tier": 1})
        disk.fill()
        until_refused(asking)
        supervisor = small_home.start("supervisor")
        small_home.until(
            lambda: b"The database is not available" in (small_home.path / "log").read_bytes()
        )
        disk.free()
        small_home.until(
            lambda: small_home.value("SELECT count(*) FROM requests WHERE state = 'done'")
        )

    assert asked.status_code == 202
    assert supervisor.poll() is None
    assert "database or disk is full" in (small_home.path / "log").read_text()


@pytest.mark.parametrize("words", ["web", "supervisor"])
def test_a_process_ends_on_sigterm_on_a_full_disk(
    disk: SmallDisk, small_home: Home, words: str
) -> None:
    small_home.run("migrate")
    small_home.engine("numbered", "100000", "0.002")
    started = small_home.start(words)
    if words == "web":
        small_home.until(lambda: b"Listening" in (small_home.path / "log").read_bytes())
    if words == "supervisor":
        small_home.until(lambda: small_home.value("SELECT count(*) FROM memories"))
    disk.fill()

    started.send_signal(signal.SIGTERM)

    assert started.wait(20) in (0, -signal.SIGTERM)
    disk.free()
    assert small_home.value("PRAGMA integrity_check") == "ok"


def test_a_manual_session_on_a_full_disk_is_refused_with_a_reason(
    disk: SmallDisk, small_home: Home
) -> None:
    with serving(small_home) as server, client(server) as asking:
        disk.fill()
        until_refused(asking)

        done = small_home.run("run")

    assert (done.returncode, done.stderr) == (2, FULL)
    disk.free()
    assert small_home.run("run").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ["import", "notes.md"],
        ["approvals", "approve", "1"],
        ["approvals"],
        ["run"],
        ["status"],
        ["health"],
        ["verify"],
        ["search", "jellyfin"],
        ["why", "jellyfin"],
        ["plan", "notes.md"],
        ["notebook", "sync"],
    ],
    ids=" ".join,
)
def test_a_command_whose_status_1_is_an_outcome_exits_with_2_on_a_full_disk(
    disk: SmallDisk, small_home: Home, tmp_path: Path, words: list[str]
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("Takes 60 s to start")
    words = [str(notes) if each == notes.name else each for each in words]
    disk.fill()

    failed = small_home.run(*words)

    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.endswith("another directory, or give this user write permission.\n")
    disk.free()
    if words[0] == "import":
        assert small_home.run(*words).stdout == "Imported 1 memory.\n"


def test_a_change_on_a_full_disk_says_what_to_do(disk: SmallDisk, small_home: Home) -> None:
    with serving(small_home) as server, client(server) as asking:
        disk.fill()
        until_refused(asking)

        failed = small_home.run("memory", "add", "timing", "Takes 60 s to start " + "x" * 1_000)

    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", FULL)


def test_masking_a_file_on_a_full_disk_leaves_no_copy(disk: SmallDisk) -> None:
    files = SessionFiles(disk.path / "sessions")
    path = files.create(SESSION)
    path.write_bytes(b"a secret\n" * 100_000)
    disk.fill()

    with pytest.raises(OSError, match="No space left"):
        files.mask(SESSION.output, lambda line: line.replace(b"secret", b"******"), Event())

    assert [each.name for each in files.directory.iterdir()] == ["1.jsonl"]
    disk.free()
    files.mask(SESSION.output, lambda line: line.replace(b"secret", b"******"), Event())
    assert path.read_bytes() == b"a ******\n" * 100_000
    assert [each.name for each in files.directory.iterdir()] == ["1.jsonl"]


def test_restore_and_backup_on_a_full_disk_name_the_full_place(
    disk: SmallDisk, home: Home, small_home: Home, tmp_path: Path
) -> None:
    output = home.path / "sessions" / "1-a.jsonl"
    output.parent.mkdir()
    output.write_bytes(b"{}\n" * 1_000_000)
    path = home.run("backup", str(tmp_path / "kept")).stdout.strip()
    disk.fill()
    refused = home.run("backup", str(disk.path))
    unmade = home.run("backup", str(disk.path / "new"))
    left = sorted(each.name for each in disk.path.iterdir())
    os.truncate(disk.path / "ballast", (disk.path / "ballast").stat().st_size - 2**21)

    partly = small_home.run("restore", path, "--replace")

    stage = small_home.path / ".restore"
    assert (refused.returncode, partly.returncode, stage.exists()) == (2, 2, False)
    assert refused.stderr == f"lamplighter: {disk.path} cannot be used: database or disk is full.\n"
    assert (unmade.returncode, left) == (2, ["ballast", "home"])
    assert partly.stderr.splitlines()[-1] == (
        f"lamplighter: {stage}/sessions/1-a.jsonl cannot be used: No space left on device."
    )
    disk.free()
    assert small_home.run("restore", path, "--replace").returncode == 0
    assert (small_home.path / "sessions" / "1-a.jsonl").stat().st_size == 3_000_000


async def test_a_transaction_larger_than_the_free_space_is_rolled_back(
    disk: SmallDisk,
) -> None:
    url = sqlite_url(disk.path / "large.db")
    driver.connect(str(disk.path / "large.db"), create=True).close()
    async with Database(url) as db:
        async with writing(db):
            await db.execute("CREATE TABLE large (text TEXT)")

        async def fill() -> None:
            async with writing(db):
                await db.execute("INSERT INTO large VALUES ('kept?')")
                for _ in range(40):  # more than the cache holds: it fails before the commit
                    await db.execute("INSERT INTO large VALUES (zeroblob(1000000))")

        with pytest.raises(driver.OperationalError, match="is full"):
            await fill()
        assert await db.fetch_val("SELECT count(*) FROM large") == 0
        async with writing(db):
            await db.execute("INSERT INTO large VALUES ('after')")

        assert await db.fetch_val("SELECT count(*) FROM large") == 1
