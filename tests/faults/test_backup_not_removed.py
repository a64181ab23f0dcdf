"""An old backup that cannot be removed: the new backup counts, and the old one is a warning."""

import json
from pathlib import Path

from homes import Home
from staged import mounted

REASON = "Device or resource busy"


def test_old_backup_that_cannot_be_removed_is_a_warning(home: Home) -> None:
    assert home.run("run").returncode == 0
    old = Path(home.run("backup").stdout.strip())
    partial = old.with_name(f".partial-{old.name}")
    with mounted(old / "sessions") as disk:
        first = home.run("backup", "--keep", "1")
        disk.path = next(old.parent.glob(f"*{old.name}")) / "sessions"  # it was renamed
        second = home.run("backup", "--keep", "1", "--json")
    third = home.run("backup", "--keep", "2", "--json")

    made, result = Path(first.stdout.strip()), json.loads(second.stdout)
    for done in (first, second):
        assert done.returncode == 1
        text = f"lamplighter: {partial} cannot be removed: {REASON}. Remove it yourself.\n"
        assert done.stderr.endswith(text)
    assert (result["removed"], result["not_removed"]) == ([str(made)], {str(partial): REASON})
    assert (third.returncode, json.loads(third.stdout)["not_removed"]) == (0, {})
    left = sorted(path.name for path in old.parent.iterdir())
    assert left == [Path(result["path"]).name, Path(json.loads(third.stdout)["path"]).name]
    assert home.run("restore", result["path"], "--replace").returncode == 0
