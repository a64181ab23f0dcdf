"""The shapes of well-known secrets: kinds and their patterns, from `shapes.txt`, as RE2 reads them.

A group holds the secret where something around it names it; else all of the match is the secret.
A part that may be long comes last in its pattern: this keeps the search linear. Order
counts: what is more special comes before what is more general.
"""

from typing import Final

from lamplighter.domain.tables import read_table

SHAPES: Final = read_table(__package__, "shapes.txt")
