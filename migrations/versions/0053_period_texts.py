"""Keep from when to when each memory was what, for lists as of an earlier moment.

Also the session of a memory and a text that it has no more: lists are sorted and searched by these.
"""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT
from lamplighter.repository.upkeep import maintained

revision = "0053"
down_revision = "0052"

EARLIER = (
    ("period_begun", "memories"),
    ("period_changed", "memories"),
    ("period_left", "memories"),
    ("period_ended", "history"),
)


def upgrade() -> None:
    """A table that triggers maintain, filled from the memories and their history."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    for name, table in EARLIER:
        op.execute(f"DROP TRIGGER IF EXISTS {name}{'' if sqlite else f' ON {table}'}")
    op.execute("DROP TABLE IF EXISTS memory_periods")
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
        sa.Column("session_id", NUMBER),
        sa.Column("other_text", TEXT),
        sqlite_with_rowid=False,
    )
    op.create_index("idx_memory_periods_memory", "memory_periods", ["memory_id", "entry_id"])
    op.create_index(
        "idx_memory_periods_counted",
        "memory_periods",
        [
            *("service", "category", "project", "active", "held_to", "held_from", "present"),
            *(["other_text"] if sqlite else []),  # PostgreSQL reads the table, and limits keys
        ],
    )
    had = sa.text("other_text IS NOT NULL")
    op.create_index(
        "idx_memory_periods_texts",
        "memory_periods",
        ["memory_id"],
        sqlite_where=had,
        postgresql_where=had,
    )
    for statement in maintained.PERIODS_SQLITE if sqlite else maintained.PERIODS_POSTGRES:
        op.execute(sa.text(statement.replace(":", "\\:")))
