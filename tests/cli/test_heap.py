"""The memory of the two processes: one heap, independent of threads."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

HEAPS = """
import ctypes, sys, threading
from lamplighter import cli

if sys.argv[1] == "one":
    cli._share_one_heap()
together = threading.Barrier(4)

def allocate():
    held = [bytes(5_000) for _ in range(100)]
    together.wait(60)

threads = [threading.Thread(target=allocate) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have one heap")
def test_threads_share_the_heap_of_the_process(tmp_path: Path) -> None:
    found = {}
    for name in ("one", "several"):
        path = tmp_path / name
        subprocess.run([sys.executable, "-c", HEAPS, name, str(path)], check=True, timeout=120)
        found[name] = path.read_text().count("<heap nr=")

    assert found["one"] == 1 < found["several"]
