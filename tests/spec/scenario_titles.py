"""The scenarios of SPEC-0015, read from the list of its titles."""

from pathlib import Path

TITLES = Path(__file__).with_name("scenarios.txt")


def titles() -> list[str]:
    """Return the title of each scenario, in the order of the specification."""
    lines = TITLES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def name_of(title: str) -> str:
    """Return the name of the test of a scenario."""
    words = "".join(char if char.isalnum() else " " for char in title.lower()).split()
    return "test_" + "_".join(words)
