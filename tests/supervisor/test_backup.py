"""Backups and restores, by the real command, on both databases."""

import asyncio
import json
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest
from homes import NO_SERVICES, Home

import direct_writes
from lamplighter.domain.notebook.index import RESTORED_START
from lamplighter.repository.store import driver
from lamplighter.repository.upkeep import migrate
from lamplighter.serve import home_lock
from lamplighter.serve.backup import create
from postgres_server import PostgresServer
from restore_drill import backed_up, database, drill
from thorough import examples

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "backup.md"
SIX = [f"[MEMORY:behavior:svc{number}] Fact number {number}" for number in range(6)]
MARKERS = "SELECT session_id, count(*) FROM markers GROUP BY session_id ORDER BY session_id"
ROWS = (
    "SELECT id, status, uid, home, log_offset, learned FROM sessions ORDER BY id",
    "SELECT id, observation, confidence, content_hash FROM memories ORDER BY id",
    "SELECT id, session_id, text, state FROM markers ORDER BY id",
    "SELECT id, level, text FROM events ORDER BY id",
    "SELECT id, memory_id, version, cause FROM history ORDER BY id",
)

SECRET = "Zk4t9Qw7Lx2vBn8RfJm3"
KEY = b"MIIEpAIBAAKCAQEA"
PRINTS = f"""
import json, os, sys, time
secret = os.environ["DB_PASSWORD"]
text = "connecting with " + secret
sys.stderr.write("connecting with " + secret + "\\n-----BEGIN RSA PRIVATE KEY-----\\n")
sys.stderr.write("{KEY.decode()}\\n" * 9 + "-----END RSA PRIVATE KEY-----\\n")
sys.stderr.flush()
message = {{"content": [{{"type": "text", "text": text}}]}}
print(json.dumps({{"type": "assistant", "message": message}}) + "\\nhalf of " + secret[:9], end="")
sys.stdout.flush()
time.sleep(300)
"""

Fresh = Callable[[str], Home]


def rows(home: Home) -> list[list[tuple[object, ...]]]:
    return [direct_writes.run(database(home), query) for query in ROWS]


def ran(home: Home, times: int) -> None:
    for _ in range(times):
        assert home.run("run").returncode == 0


def outputs(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (home.path / "sessions").glob("*.jsonl")}


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(
    request: pytest.FixtureRequest, home: Home, tmp_path: Path, postgres: PostgresServer
) -> Fresh:
    """Return a function that creates homes, each with a separate database."""

    def make(name: str) -> Home:
        path = tmp_path / name
        path.mkdir()
        env = {**home.env, "LAMPLIGHTER_HOME": str(path)}
        if request.param == "postgresql":
            unique = f"{name}_{abs(hash(str(tmp_path)))}"
            # a restore without --replace is into an empty database
            template = "migrated" if name == "first" else "template1"
            env["LAMPLIGHTER_DATABASE_URL"] = postgres.create(unique, template)
            request.addfinalizer(lambda: postgres.drop(unique))
        made = Home(path, env, home.started)
        made.engine("lines", *SIX)
        return made

    return make


@pytest.mark.timeout(240)
def test_backup_restores_into_a_working_new_home(fresh: Fresh) -> None:
    first, second = fresh("first"), fresh("second")
    (first.path / "services.yaml").write_text(NO_SERVICES + "# kept\n")
    ran(first, 2)
    path, before = backed_up(first), rows(first)
    ran(first, 1)

    done = second.run("restore", str(path), "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["replaced"] is None
    assert rows(second) == before
    assert (second.path / "services.yaml").read_text() == NO_SERVICES + "# kept\n"
    assert outputs(second).items() < outputs(first).items()

    index = second.path / "notebook" / "MEMORY.md"
    assert index.read_text().startswith(RESTORED_START)
    assert second.run("notebook", "sync").returncode == 0
    assert index.read_text() == (path / "notebook" / "MEMORY.md").read_text()

    ran(second, 2)

    assert direct_writes.run(database(second), MARKERS) == [(1, 6), (2, 6), (3, 6), (4, 6)]
    assert second.run("doctor").returncode in (0, 1)


@pytest.mark.timeout(240)
def test_lost_home_is_restored_from_a_backup_under_write_load(fresh: Fresh, tmp_path: Path) -> None:
    assert drill(fresh("first"), fresh("second"), tmp_path / "kept", 0.5) > 100


@pytest.mark.timeout(240)
def test_restore_replaces_a_used_home_only_with_the_option(fresh: Fresh) -> None:
    home = fresh("first")
    ran(home, 2)
    path, before = backed_up(home), rows(home)
    ran(home, 2)
    later = rows(home)

    journal = {"replaced": "", "places": {}, "gone": []}
    (home.path / "restore.json").write_text(json.dumps(journal))  # of a killed restore
    refused = home.run("restore", str(path))
    assert (refused.returncode, "--replace" in refused.stderr) == (2, True)
    assert "the interrupted restore of this home" in refused.stderr
    assert rows(home) == later

    done = home.run("restore", str(path), "--replace", "--json")

    assert done.returncode == 0, done.stderr
    assert rows(home) == before
    aside = Path(json.loads(done.stdout)["replaced"])
    assert len(list((aside / "sessions").glob("*.jsonl"))) == 4
    ran(home, 1)
    assert direct_writes.run(database(home), MARKERS) == [(1, 6), (2, 6), (5, 6)]


@pytest.mark.timeout(240)
def test_restore_is_refused_while_a_process_uses_the_home(fresh: Fresh) -> None:
    home = fresh("first")
    ran(home, 1)
    path = backed_up(home)
    supervisor = home.start("supervisor")
    home.until(lambda: direct_writes.run(database(home), "SELECT 1 FROM sessions WHERE id = 2"))
    before = rows(home)

    refused = home.run("restore", str(path), "--replace")

    assert (refused.returncode, "in use" in refused.stderr) == (2, True), refused.stderr
    supervisor.send_signal(signal.SIGTERM)
    supervisor.wait()
    assert rows(home)[0][0] == before[0][0], "nothing was restored"
    assert home.run("restore", str(path), "--replace").returncode == 0


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fresh", ["postgresql"], indirect=True)
def test_restore_waits_for_a_connection_that_closes(fresh: Fresh) -> None:
    home = fresh("first")
    ran(home, 1)
    path = backed_up(home)
    open_now = threading.Event()

    async def stay() -> None:
        settings = {"application_name": "lamplighter"}
        connection = await asyncpg.connect(database(home), server_settings=settings)
        open_now.set()
        await asyncio.sleep(2)
        await connection.close()

    with ThreadPoolExecutor() as pool:
        staying = pool.submit(asyncio.run, stay())
        assert open_now.wait(60)
        done = home.run("restore", str(path), "--replace")
        staying.result()

    assert done.returncode == 0, done.stderr


def test_restore_refuses_a_damaged_or_incomplete_backup(fresh: Fresh) -> None:
    home, other = fresh("first"), fresh("second")
    ran(home, 1)
    path = backed_up(home)
    for name in json.loads((path / "manifest.json").read_text())["files"]:
        copy = path.with_name("copy")
        shutil.copytree(path, copy)
        with (copy / name).open("ab") as file:
            file.write(b"x")
        refused = other.run("restore", str(copy))
        assert (refused.returncode, str(copy / name) in refused.stderr) == (2, True)
        shutil.rmtree(copy)
    values = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**values, "files": None}))
    assert "is not a complete backup" in other.run("restore", str(path)).stderr
    assert not (other.path / "sessions").exists()


def test_backup_keeps_the_newest_and_contains_no_secret(fresh: Fresh) -> None:
    home = fresh("first")
    home.env["LAMPLIGHTER_WEBHOOK_TOKEN"] = secret = "hunter2hunter2hunter2"
    ran(home, 1)

    made = [backed_up(home, "--keep", "2")]
    backups = home.path / "backups"
    partial = backups / ".partial-of-another-program"
    shutil.copytree(made[0], copy := backups / "lamplighter-before-upgrade")
    shutil.copytree(made[0], later := backups / "lamplighter-99991231T235959000000Z")
    (link := backups / "lamplighter-latest").symlink_to(made[0])
    partial.touch()
    made += [backed_up(home, "--keep", "2") for _ in range(2)]

    kept = sorted(backups.glob("lamplighter-2*"))
    assert (kept, later.is_dir()) == (made[2:], True), "the newest one stays after a clock jump"
    assert (copy.is_dir(), link.is_symlink(), partial.exists()) == (True, True, True)
    for path in kept[0].rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes(), path
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept[0].rglob("*"))


@pytest.mark.parametrize("killed", [False, True])
def test_backup_masks_the_output_of_a_running_session(
    home: Home, tmp_path: Path, *, killed: bool
) -> None:
    home.env |= {"DB_PASSWORD": SECRET, "LAMPLIGHTER_ENGINE": "exec"}
    home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, "-c", PRINTS])
    supervisor = home.start("supervisor")
    home.until(lambda: home.outputs(1) and SECRET[:9].encode() in home.output(1).read_bytes()[-9:])
    home.until(lambda: list((home.path / "sessions").glob("*.times")))
    if killed:
        supervisor.kill()
        supervisor.wait()
        home.until(lambda: not home.left_over())
    printed = {path.name: path.read_bytes() for path in (home.path / "sessions").glob("*.*")}
    times = [printed.pop(name) for name in list(printed) if name.endswith(".times")]
    assert all(SECRET.encode() in content for content in printed.values()), "nothing is masked yet"

    path = backed_up(home, str(tmp_path / "kept"))

    copied = {each.name: each.read_bytes() for each in (path / "sessions").iterdir()}
    kept = [copied.pop(name) for name in list(copied) if name.endswith(".times")]
    assert [one.startswith(other) for one, other in zip(kept, times, strict=True)] == [True]
    assert copied.keys() == printed.keys()
    for name, content in copied.items():
        assert SECRET.encode() not in content, name
        assert KEY not in content, name
        whole = len(printed[name].rpartition(b"\n")[0]) + 1
        assert len(content) == (len(printed[name]) if killed else whole), name
    other = Home(tmp_path / "other", {**home.env, "LAMPLIGHTER_HOME": str(tmp_path / "other")})
    assert other.run("restore", str(path)).returncode == 0, "the hashes are those of the copies"


def test_restore_migrates_a_backup_of_an_older_version(fresh: Fresh, tmp_path: Path) -> None:
    home, other = fresh("older"), fresh("newer")
    migrate.upgrade(database(home), target="0028")
    direct_writes.run(
        database(home),
        "INSERT INTO sessions (id, status, started_at, ended_at, log_offset)"
        " VALUES (7, 'completed', '2026-01-01T12:00:00.000000Z', '2026-01-01T12:01:00.000000Z', 9)",
    )
    path = backed_up(home, str(tmp_path / "kept"))
    assert migrate.revision_of(database(home)) == "0028", "a backup migrates nothing"

    assert other.run("restore", str(path)).returncode == 0

    assert migrate.revision_of(database(other)) == migrate.newest_revision()
    ran(other, 1)
    assert direct_writes.run(database(other), MARKERS) == [(8, 6)]


def test_backup_is_refused_without_a_database(home: Home) -> None:
    (home.path / "lamplighter.db").unlink()

    done = home.run("backup")

    assert (done.returncode, "nothing to back up" in done.stderr) == (2, True)


def test_a_backup_reports_a_lost_database(home: Home) -> None:
    assert home.run("migrate").returncode == 0
    for each in home.path.glob("lamplighter.db*"):
        each.unlink()

    done = home.run("backup")

    assert done.returncode == 2
    assert "lamplighter.db is missing, but this home has been used before" in done.stderr
    assert "Restore a backup" in done.stderr
    assert not (home.path / "lamplighter.db").exists()
    assert not (home.path / "backups").exists()
    assert not list(home.path.glob("lamplighter.db*"))


def test_one_backup_at_a_time_writes_to_a_directory(home: Home, tmp_path: Path) -> None:
    lock = tmp_path / create.LOCK
    with home_lock.temporary(lock, "in use"):
        refused = home.run("backup", str(tmp_path))
        assert lock.exists()

    assert (refused.returncode, "Another backup is running" in refused.stderr) == (2, True)
    assert home.run("backup", str(tmp_path)).returncode == 0
    assert not lock.exists()


def test_backup_under_write_load_is_one_snapshot(home: Home, tmp_path: Path) -> None:
    many = examples(3_000)
    home.env["LAMPLIGHTER_MAX_MARKERS"] = str(many)  # a slow backup finds all of them printed
    home.engine("numbered", str(many), str(3 / many))
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) > 20 FROM markers"))
    path = backed_up(home, str(tmp_path / "kept"))
    supervisor.kill()
    supervisor.wait()
    database = path / "database" / "lamplighter.db"

    with driver.connect(str(database)) as connection:
        [markers] = connection.execute("SELECT count(*) FROM markers").fetchone()
        offset, step = connection.execute("SELECT log_offset, log_step FROM sessions").fetchone()
    [output] = (path / "sessions").glob("*.jsonl")
    read = output.read_bytes()
    assert len(read) >= offset
    # the steps of a line of this engine are its markers: those in before its end are counted
    assert markers == read[:offset].count(b"[MEMORY:") + step


def test_commands_in_the_docs_back_up_and_restore(home: Home, tmp_path: Path) -> None:
    home.engine("lines", *SIX)
    ran(home, 1)
    section = PAGE.read_text().partition("## Lost")[0]
    backup, restore = re.findall(r"^lamplighter (.*)$", section, re.MULTILINE)
    kept = str(tmp_path / "kept")

    done = home.run(*backup.replace("/backup/lamplighter", kept).split())

    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"Backed up \d+ rows and 1 session file\. The restore test passed\.\n", done.stderr
    )
    assert [each.name for each in Path(kept).iterdir()] == [Path(done.stdout.strip()).name]
    made = Path(done.stdout.strip())
    example = Path(restore.split()[1])
    assert (made.parent, len(made.name)) == (Path(kept), len(example.name))
    other = Home(tmp_path / "other", {**home.env, "LAMPLIGHTER_HOME": str(tmp_path / "other")})
    assert other.run("restore", str(made)).returncode == 0
    assert rows(other) == rows(home)
