"""The example in the file that a new home gets: it has each kind of check and action."""

import re
from pathlib import Path

from lamplighter.config.services import load, starter
from lamplighter.domain.services.service import Services

_EXAMPLE = re.compile(r"^# (  .*|\w+:.*)$", re.MULTILINE)


def load_example(directory: Path) -> Services:
    """Return the services of the example, without its comment signs."""
    path = directory / "example.yaml"
    path.write_text("\n".join(_EXAMPLE.findall(starter(8080))))
    return load(path)
