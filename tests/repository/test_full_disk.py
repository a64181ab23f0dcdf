"""A full disk: recognized whatever could not be written, and nothing half-written stays."""

import os
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamplighter.repository.store import driver
from lamplighter.usecases.sessions.halt import HaltControl

pytestmark = pytest.mark.skipif(
    not hasattr(os, "posix_fallocate"), reason="needs a limit on file sizes"
)


@contextmanager
def full_disk() -> Iterator[None]:
    """Let each write of this process to a file fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_database_that_a_full_disk_keeps_from_opening_is_temporarily_unusable(
    tmp_path: Path, migrated: Path
) -> None:
    path = tmp_path / "lamplighter.db"
    shutil.copy(migrated, path)

    with full_disk(), pytest.raises(driver.OperationalError) as caught:
        driver.connect(str(path))

    assert driver.is_temporary(caught.value)
    with closing(driver.connect(str(path))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_halt_that_a_full_disk_refuses_leaves_no_file(tmp_path: Path) -> None:
    control = HaltControl(tmp_path / "HALT")

    with full_disk(), pytest.raises(OSError, match="large"):
        control.write("the rack is moved", by="me", now=datetime(2026, 1, 1, tzinfo=UTC))

    assert list(tmp_path.iterdir()) == []
