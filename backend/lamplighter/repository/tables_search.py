"""The tables of the search, as SQL Core sees them; what one database has alone stands beside."""

from typing import Final

import sqlalchemy as sa

from lamplighter.domain.search import Layer
from lamplighter.repository.columns import NUMBER, metadata

STEP: Final = 2**40
"""The numbers of each part of the index begin at a multiple of this; a row's own is added."""

BASES: Final = {Layer.MEMORY: 0, Layer.SESSION: STEP, Layer.EVENT: 2 * STEP}
ASIDE: Final = 3 * STEP
"""Memories that are told no more: searched only when somebody asks for them."""

FIELDS: Final = ("title", "text", "keys", "around")

terms = sa.Table(
    "terms",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in FIELDS),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("size", sa.Double, nullable=False),
)
unindexed = sa.Table(
    "unindexed",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
)
term_totals = sa.Table(
    "term_totals",
    metadata,
    sa.Column("part", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("documents", NUMBER, nullable=False),
    sa.Column("size", sa.Double, nullable=False),
)
