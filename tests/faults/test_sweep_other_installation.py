"""A sweep by another installation: its warden kills the whole tree, also unmarked processes."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil

from lamplighter.engines import warden
from lamplighter.engines.process import MARK, WARDEN, process_mark, sweep

ENGINE = (
    "import os, subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'], "
    "start_new_session=True, env={}); print(os.getpid(), child.pid, flush=True); time.sleep(300)"
)


def living(pids: list[int]) -> list[int]:
    return [
        pid
        for pid in pids
        if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]


def test_the_process_tree_of_another_installation_is_killed_completely(tmp_path: Path) -> None:
    copied = tmp_path / WARDEN
    copied.parent.mkdir(parents=True)
    shutil.copy(warden.__file__, copied)
    # lives until the sweep: one by another test at the same time would end the tree before
    supervisor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    control, ours = os.pipe()  # held open: it is not the end of its supervisor that ends it
    words = [sys.executable, "-I", "-S", str(copied), str(control), "2.0", "0", "2", "--"]
    guarding = subprocess.Popen(
        [*words, sys.executable, "-c", ENGINE],
        stdout=subprocess.PIPE,
        env={**os.environ, MARK: process_mark(7, supervisor.pid)},
        pass_fds=(control,),
        start_new_session=True,
    )
    pids = [guarding.pid]
    try:
        assert guarding.stdout is not None
        pids += map(int, guarding.stdout.readline().split())
        assert len(living(pids)) == 3
        supervisor.kill()
        supervisor.wait()

        asyncio.run(sweep())

        guarding.wait(20)
        deadline = time.monotonic() + 20
        while living(pids):
            assert time.monotonic() < deadline, f"still alive: {living(pids)}"
            time.sleep(0.05)
    finally:
        supervisor.kill()
        supervisor.wait()
        for pid in living(pids):
            os.kill(pid, 9)
        guarding.wait()
        guarding.stdout.close()  # type: ignore[union-attr]
        os.close(control)
        os.close(ours)
