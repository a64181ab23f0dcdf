"""The shapes of well-known secrets: kinds and their RE2 patterns, from `shapes.txt`.

A group contains the secret if surrounding text identifies it; otherwise the whole match is the
secret. A part that may be long comes last in its pattern, which keeps the search linear. Order
matters: specific patterns come before general ones.
"""

from typing import Final

from lamplighter.domain.tables import read_table

SHAPES: Final = read_table(__package__, "shapes.txt")
