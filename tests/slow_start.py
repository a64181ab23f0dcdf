"""A Python that starts the programs of actions slowly, as on a loaded machine."""

import sys
from dataclasses import dataclass
from pathlib import Path

SCRIPT = """#!/bin/sh
case "$*" in
*{mark}*) : > {place}/starting; until [ -e {place}/go ]; do sleep 0.02; done;;
esac
exec {python} "$@"
"""


@dataclass(frozen=True)
class SlowStart:
    """Programs whose command line contains `mark` start when the test lets them."""

    place: Path
    mark: str

    def python(self) -> Path:
        """Write the Python, and return its path."""
        path = self.place / "slow-python"
        path.write_text(SCRIPT.format(mark=self.mark, place=self.place, python=sys.executable))
        path.chmod(0o755)
        return path

    def begun(self) -> bool:
        """Whether a program is starting, after its reservation."""
        return (self.place / "starting").exists()

    def go_on(self) -> None:
        """Let the programs start from now on."""
        (self.place / "go").touch()
