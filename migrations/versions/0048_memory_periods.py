"""Keep from when to when each memory was what, for lists as of an earlier moment."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT
from lamplighter.repository.upkeep import maintained

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    """A table that triggers maintain, filled from the memories and their history."""
    op.create_table(
        "memory_periods",
        sa.Column("held_to", TEXT, primary_key=True),
        sa.Column("held_from", TEXT, primary_key=True),
        sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("entry_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("present", NUMBER, nullable=False),
        *(sa.Column(name, TEXT) for name in ("service", "category", "project")),
        sa.Column("active", NUMBER),
        sa.Column("confidence", sa.Double()),
        sa.Column("updated_at", TEXT),
        sqlite_with_rowid=False,
    )
    op.create_index("idx_memory_periods_memory", "memory_periods", ["memory_id", "entry_id"])
    op.create_index(
        "idx_memory_periods_counted",
        "memory_periods",
        ["service", "category", "project", "active", "held_to", "held_from", "present"],
    )
    sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in maintained.PERIODS_SQLITE if sqlite else maintained.PERIODS_POSTGRES:
        op.execute(sa.text(statement.replace(":", "\\:")))
