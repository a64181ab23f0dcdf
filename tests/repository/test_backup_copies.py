"""A copy of a database that was damaged after its creation is not accepted as a backup."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

import direct_writes
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import is_postgres
from lamplighter.repository.store.postgres import connected
from lamplighter.repository.upkeep import copies
from lamplighter.repository.upkeep.copies import DamagedCopy

EVENT = (
    "INSERT INTO events (level, text, service, created_at)"
    " VALUES ('info', 'Fact {}', NULL, '2026-01-01T12:00:00.000000Z')"
)


def lose_row(directory: Path) -> None:
    for path in directory.iterdir():
        if path.suffix == ".db":
            with closing(driver.connect(str(path))) as connection:
                connection.execute("DELETE FROM events WHERE text = 'Fact 7'")
        else:
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(each for each in lines if b"Fact 7" not in each))


def cut(directory: Path) -> None:
    largest = max(directory.iterdir(), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[: -largest.stat().st_size // 2])


def overwrite(directory: Path) -> None:
    largest = max(directory.iterdir(), key=lambda path: path.stat().st_size)
    held = largest.read_bytes()
    half = len(held) // 2
    largest.write_bytes(held[:half] + b"\0" * min(8192, half) + held[half + min(8192, half) :])


def test_damaged_copy_fails_its_restore_test(url: str, tmp_path: Path) -> None:
    direct_writes.run(url, *(EVENT.format(number) for number in range(50)))
    whole = tmp_path / "copy"
    whole.mkdir()
    copier = copies.copier(url)
    copied = copier.copy(whole)

    for damage in (lose_row, cut) if is_postgres(url) else (lose_row, cut, overwrite):
        damaged = tmp_path / damage.__name__
        shutil.copytree(whole, damaged)
        damage(damaged)
        with pytest.raises((DamagedCopy, driver.Error)):
            copier.prove(damaged, copied)


async def test_a_connection_lost_within_a_transaction_is_reported_with_its_cause(
    postgres_url: str,
) -> None:
    with pytest.raises(driver.OperationalError, match=r"due to administrator command$"):
        async with connected(postgres_url) as connection, connection.transaction():
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
