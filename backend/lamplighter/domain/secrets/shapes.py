"""The shapes of well-known secrets: kinds and their patterns, from `shapes.txt`, as RE2 reads them.

A group holds the secret where something around it names it; else all of the match is the secret.
A part that may be long comes last in its pattern: this keeps the search linear. Order
counts: what is more special comes before what is more general.
"""

from importlib.resources import files
from typing import Final

_TABLE: Final = files(__package__).joinpath("shapes.txt").read_text(encoding="utf-8")

SHAPES: Final = tuple(
    (kind, pattern) for kind, _, pattern in (line.partition(" ") for line in _TABLE.splitlines())
)
