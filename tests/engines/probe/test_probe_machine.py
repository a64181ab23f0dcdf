"""The checks of this machine: real processes and disks."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lamplighter.domain.services.check import DiskCheck, DiskSpace, ProcessCheck
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.text import size

SLEEPS = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
kept = b"x" * int(sys.argv[2])
print("ready", flush=True)
time.sleep(600)
"""
Start = Callable[..., subprocess.Popen[bytes]]

linux = pytest.mark.skipif(sys.platform != "linux", reason="names a process by prctl")


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes of a name; they end with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(name: str, *words: str, size: int = 0) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", SLEEPS, name, str(size), *words]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def end_without_reaping(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def look(process: str, **more) -> CheckOutcome:
    given = {"timeout": 10.0, "retries": 0} | more
    return await checks.run(
        ProcessCheck(name="process", process=process, **given), look_again=False
    )


@linux
@pytest.mark.parametrize(
    ("running", "counts", "detail"),
    [
        (1, None, ""),
        (2, None, ""),
        (0, None, "not running: lamp-NAME"),
        (1, range(1, 2), ""),
        (2, range(1, 2), "2 running: lamp-NAME, expected 1"),
        (2, range(1, 5), ""),
        (1, range(2, 5), "1 running: lamp-NAME, expected 2-4"),
        (0, range(1), ""),
        (1, range(1), "1 running: lamp-NAME, expected 0"),
    ],
)
async def test_a_process_check_compares_the_number_of_processes(
    start: Start, running, counts, detail
) -> None:
    name = f"lamp-{os.getpid()}"
    for _ in range(running):
        start(name)

    outcome = await look(name, counts=counts)

    assert outcome.detail == detail.replace("lamp-NAME", name)
    assert outcome.ok is not bool(detail)


@linux
async def test_the_name_is_exact_and_the_command_line_is_searched(start: Start) -> None:
    name = f"lamp-{os.getpid()}"
    start(name, "--serve", "films")
    start(name, "--serve", b"m\xffsic".decode(errors="surrogateescape"))

    assert not (await look(name[:-1])).ok
    assert (await look(name, command="--serve films$", counts=range(1, 2))).ok
    assert (await look(name, command="--serve", counts=range(2, 3))).ok
    outcome = await look(name, command="--serve b[o]oks")
    assert outcome.detail == f"not running: {name} --serve b[o]oks"


@linux
async def test_more_memory_than_declared_is_a_warning(start: Start) -> None:
    name = f"lamp-{os.getpid()}"
    start(name, size=30_000_000)
    start(name, size=30_000_000)

    small = await look(name, memory_bytes=60_000_000)
    large = await look(name, memory_bytes=10**12)

    assert small.ok
    assert small.warning.startswith("uses ")
    assert small.warning.endswith(" MB, more than 60 MB")
    assert (large.ok, large.warning) == (True, "")


@linux
async def test_a_zombie_does_not_count_as_running(start: Start) -> None:
    name = f"lamp-{os.getpid()}"
    process = start(name)
    end_without_reaping(process.pid)

    assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    assert not (await look(name)).ok


async def test_processes_that_end_during_the_check_cause_no_error() -> None:
    """During the check, many of the processes that it has just listed end."""
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            subprocess.run(["true"], check=False)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        outcomes = [await look("true", counts=range(1000), memory_bytes=10**12) for _ in range(20)]
    finally:
        done.set()
        thread.join()

    assert all(outcome.ok for outcome in outcomes)


async def disk(path: object, **more) -> CheckOutcome:
    given = {"timeout": 5.0, "retries": 0} | more
    return await checks.run(DiskCheck(name="disk", path=str(path), **given), look_again=False)


LITTLE, MUCH = DiskSpace(size=1), DiskSpace(size=10**18)


@pytest.mark.parametrize(
    ("free", "warn", "ok", "warned"),
    [
        (LITTLE, LITTLE, True, False),
        (LITTLE, MUCH, True, True),
        (MUCH, MUCH, False, False),
        (DiskSpace(percent=0.0), DiskSpace(percent=0.0), True, False),
        (DiskSpace(percent=0.0), DiskSpace(percent=100.1), True, True),
        (DiskSpace(percent=100.1), LITTLE, False, False),
    ],
)
async def test_a_disk_check_passes_or_fails_by_the_free_space(
    tmp_path: Path, free, warn, ok, warned
) -> None:
    outcome = await disk(tmp_path, free=free, warn=warn)

    assert (outcome.ok, bool(outcome.warning)) == (ok, warned)
    healthy = "" if warned else "% free"
    assert outcome.detail.endswith(healthy if ok else f" free at {tmp_path}")


def statvfs(**fields: int) -> os.statvfs_result:
    """Return the system's figures of a disk of 1000 blocks of 1 MB."""
    told = {
        "f_bsize": 10**6,
        "f_frsize": 10**6,
        "f_blocks": 1000,
        "f_bfree": 550,
        "f_bavail": 500,
        "f_files": 1000,
        "f_ffree": 900,
        "f_favail": 900,
        "f_flag": 0,
        "f_namemax": 255,
    } | fields
    return os.statvfs_result(tuple(told.values()))


@pytest.mark.parametrize(
    ("told", "more", "words"),
    [
        (statvfs(f_bavail=40), {}, "8.16%, less than 10%: 40 MB free at /x"),
        (statvfs(f_bavail=20), {}, "4.26%, less than 5%: 20 MB free at /x"),
        (statvfs(f_favail=80), {}, "8%, less than 10% of inodes free at /x"),
        (statvfs(f_favail=3), {}, "0.3%, less than 5% of inodes free at /x"),
        # where inodes are not counted they cannot be too few
        (statvfs(f_files=0, f_ffree=0, f_favail=0), {}, "52.63% free"),
        (statvfs(f_favail=3), {"free": LITTLE, "warn": LITTLE}, "52.63% free"),
        (statvfs(), {"free": DiskSpace(size=2 * 10**9)}, "500 MB of 2 GB free at /x"),
        (statvfs(f_blocks=0, f_bfree=0, f_bavail=0), {}, "no file system size at /x"),
    ],
)
async def test_disk_results_are_described(monkeypatch, told, more, words) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: told)

    outcome = await disk("/x", **more)

    assert outcome.detail + outcome.warning == words


async def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    assert (await disk(gone)).detail == f"cannot read {gone}: no such file or directory"
    assert (await disk("/\0")).detail == "cannot read /: it contains a null byte"


async def test_a_hanging_mount_times_out(monkeypatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(os, "statvfs", lambda path: released.wait(60))

    try:
        outcome = await asyncio.wait_for(disk("/mnt/gone", timeout=0.2, retries=1), 30)
    finally:
        released.set()

    assert (outcome.ok, outcome.detail, outcome.attempts) == (False, "timed out after 0.2 s", 2)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999_600, "1 MB"),
        (1_536, "1.54 kB"),
        (620_000_000, "620 MB"),
        (99_700_000_000, "100 GB"),
        (10**18, "1000000 TB"),
    ],
)
def test_sizes_are_formatted_with_units(count: int, words: str) -> None:
    assert size(count) == words
