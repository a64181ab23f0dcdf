"""The notebook is killed between two steps: no page is torn, and no edit is lost."""

import tempfile
from pathlib import Path

from notebook_kills import run_kills

KILLS, SEED = 8, 20_261_125
MEMORY = Path("/dev/shm")  # a directory in memory: a kill needs no slow disk


def test_a_killed_run_loses_no_edit_and_tears_no_page(tmp_path: Path) -> None:
    where = MEMORY if MEMORY.is_dir() else tmp_path
    with tempfile.TemporaryDirectory(dir=where) as directory:
        printed = run_kills(KILLS, SEED, directory)

    assert printed.startswith(f"{KILLS} kills and {KILLS} saves at ")
