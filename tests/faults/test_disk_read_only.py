"""A home on a read-only disk: refused at the start, survived at run time."""

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from homes import Home
from staged import SmallDisk, client, remembered, serving


@contextmanager
def refused(pid: int) -> Iterator[None]:
    """Let every write of a running process to any file fail, as on a disk turned read-only.

    Linux refuses to remount a file system with files open for writing; a size limit of 0 on files
    fails the same calls.
    """
    process = psutil.Process(pid)
    process.rlimit(psutil.RLIMIT_FSIZE, (0, psutil.RLIM_INFINITY))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))


def test_a_home_that_turns_read_only_serves_reads_and_recovers(home: Home) -> None:
    with serving(home) as server, client(server) as asking:
        assert remembered(asking, "Before").status_code == 201
        assert server._process is not None
        with refused(server._process.pid):
            refusals = [remembered(asking, f"Meanwhile {number}") for number in range(3)]
            read = [
                asking.get(path).status_code
                for path in ("/api/v1/memories", "/api/v1/memories/1", "/api/v1/overview")
            ]
        after = remembered(asking, "After")

    assert {each.status_code for each in refusals} == {503}
    assert {each.headers["content-type"] for each in refusals} == {"application/problem+json"}
    assert "Nothing was changed" in refusals[0].json()["detail"]
    assert "Retry-After" in refusals[0].headers
    assert read == [200] * 3
    assert after.status_code == 201
    rows = home.rows("SELECT observation FROM memories ORDER BY id")
    assert rows == [("Before",), ("After",)]
    assert home.value("PRAGMA integrity_check") == "ok"


def test_output_during_a_read_only_phase_is_ingested_afterwards(
    home: Home,
) -> None:
    go = home.path.with_name("go")
    home.engine("numbered", "600", "0.002", str(go))
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM memories"))

    with refused(supervisor.pid):
        go.touch()
        home.until(lambda: home.output(1).read_bytes().count(b"\n") > 601)
        held = home.value("SELECT count(*) FROM markers")
    home.until(lambda: home.value("SELECT status FROM sessions") == "completed")

    assert int(str(held)) <= 300, "nothing was refused: the test shows nothing"
    assert home.value("SELECT count(*) FROM markers") == 600
    assert home.value("SELECT count(DISTINCT text) FROM markers") == 600
    assert supervisor.poll() is None


@pytest.mark.parametrize("words", ["web", "supervisor", "run", "migrate", "up"])
def test_a_read_only_home_is_rejected_with_a_message(
    disk: SmallDisk, small_home: Home, words: str
) -> None:
    small_home.run("migrate")
    disk.read_only(on=True)

    done = small_home.run(words)
    looked = small_home.run("doctor")
    disk.read_only(on=False)

    assert done.returncode == 2, done.stderr
    assert "cannot be used" in done.stderr
    assert "LAMPLIGHTER_HOME" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert looked.returncode == 1, looked.stdout
    assert f"BAD  Home {small_home.path}" in looked.stdout
