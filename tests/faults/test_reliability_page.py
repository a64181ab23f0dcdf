"""The docs on reliability name only existing tests."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`((?:tests|e2e)/[\w/]+\.py)(?:::(\w+))?`")


def test_each_promise_names_an_existing_test() -> None:
    named = NAMED.findall((ROOT / "docs" / "explanation" / "reliability.md").read_text())

    assert len(named) >= 20
    for path, name in named:
        text = (ROOT / path).read_text()
        assert not name or re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), name


def test_every_row_names_a_test() -> None:
    lines = (ROOT / "docs" / "explanation" / "reliability.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| fault ")]

    assert [row for row in rows if not NAMED.search(row)] == []
