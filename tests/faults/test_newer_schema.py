"""A database of a newer version: every command refuses it with a message and changes no byte."""

from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from homes import Home

from lamplighter.repository.store import driver


def bytes_of(home: Path) -> dict[str, str]:
    """Return hashes of the database's files."""
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in home.glob("lamplighter.db*")
        if path.suffix == ".db" or path.stat().st_size
    }


@pytest.mark.parametrize("words", ["web", "supervisor", "run", "migrate", "up", "doctor"])
def test_a_newer_database_is_rejected_and_not_changed(home: Home, words: str) -> None:
    assert home.run("migrate").returncode == 0
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = bytes_of(home.path)

    done = home.run(words)

    if words == "doctor":
        assert done.returncode == 1
        assert "revision 9999 is newer than this version\n     Start the Lamplighter" in done.stdout
    else:
        assert done.returncode == 2
        assert "was written by a newer Lamplighter (its revision is 9999" in done.stderr
        assert "Nothing was changed." in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    after = bytes_of(home.path)
    assert {name: after[name] for name in before} == before
    assert "lamplighter.db-wal" not in after
