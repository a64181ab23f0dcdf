"""kill -9 while a page with many new lines is read: no line is lost or added twice."""

import time
from pathlib import Path

import pytest

import direct_writes
import nursery
from lamplighter.formats.notebook import parse
from living import Home

LINES = 300
COUNT = "SELECT count(*) FROM memories"
TEXTS = "SELECT observation FROM memories WHERE active = 1"


@pytest.mark.parametrize("dialect", ["sqlite", "postgres_url"])
def test_killed_reading_of_a_large_page_is_continued(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(request.getfixturevalue(dialect))
    home = Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": url})
    page = home.path / "notebook/services/jellyfin.md"
    page.parent.mkdir(parents=True)
    lines = [f"Step {number} takes {number} s" for number in range(LINES)]
    lines[7] = lines[3]  # the same line twice is two memories
    page.write_text("# jellyfin\n\n" + "".join(f"- [timing] {line}\n" for line in lines))
    with (home.path / "log").open("wb") as log:
        reading = nursery.start("notebook", "sync", env=home.env, stdout=log, stderr=log)
    while not (stored := direct_writes.run(url, COUNT)[0][0]):
        assert reading.poll() is None
        time.sleep(0.001)
    reading.kill()
    reading.wait()
    stored = direct_writes.run(url, COUNT)[0][0]

    with page.open("a") as file:
        file.write("- [timing] Written after the kill\n")
    page.write_text(page.read_text().replace(lines[-1], "Edited after the kill"))
    done = home.ask("notebook", "sync")

    assert 0 < stored < LINES
    assert done.returncode == 0, done.stderr
    expected = sorted([*lines[:-1], "Edited after the kill", "Written after the kill"])
    assert sorted(text for (text,) in direct_writes.run(url, TEXTS)) == expected
    assert direct_writes.run(url, COUNT) == [(len(expected),)]
    written = parse(page.read_text()).lines
    assert sorted(line.text for line in written) == expected
    assert len({line.number for line in written} - {None}) == len(expected)
