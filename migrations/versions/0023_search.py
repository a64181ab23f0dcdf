"""Find what is known by its words."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store import index_schema
from lamplighter.repository.store.dialect import NUMBER, TEXT
from lamplighter.repository.store.tables import FIELDS

revision = "0023"
down_revision = "0022"

PARTS = 4


def upgrade() -> None:
    """Find what is known by its words; what is held already waits to be taken in."""
    op.create_table(
        "terms",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        *(sa.Column(name, TEXT, nullable=False, server_default="") for name in FIELDS),
        sa.Column("scope", TEXT, nullable=False, server_default=""),
        sa.Column("size", sa.Double(), nullable=False, server_default="0"),
    )
    op.create_table("unindexed", sa.Column("id", NUMBER, primary_key=True, autoincrement=False))
    op.create_table(
        "term_totals",
        sa.Column("part", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("documents", NUMBER, nullable=False, server_default="0"),
        sa.Column("size", sa.Double(), nullable=False, server_default="0"),
    )
    for part in range(PARTS):
        op.execute(f"INSERT INTO term_totals (part) VALUES ({part})")
    sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in index_schema.SQLITE if sqlite else index_schema.POSTGRES:
        op.execute(sa.text(statement.replace(":", r"\:")))
    for statement in index_schema.NOTE_ALL:
        op.execute(statement)
