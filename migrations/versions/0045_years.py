"""Maintain what lists count of many rows, and keep what folded rounds and merges stand for."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT
from lamplighter.repository.upkeep import maintained

revision = "0045"
down_revision = "0044"

REFERRING = (
    ("memories", "session_id"),
    ("cooldowns", "session_id"),
    ("reviews", "session_id"),
    ("escalations", "child_id"),
)


def upgrade() -> None:
    """Two tables that triggers maintain, filled from what is stored; three columns; indexes."""
    op.add_column("sessions", sa.Column("rounds", NUMBER, nullable=False, server_default="1"))
    none = f"[{', '.join('0' * 13)}]"
    op.add_column("check_series", sa.Column("latencies", TEXT, nullable=False, server_default=none))
    op.add_column("incidents", sa.Column("moved", TEXT))
    op.create_table(
        "event_groups",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("level", TEXT, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("text", TEXT, nullable=False),
        *(
            sa.Column(name, NUMBER, nullable=False)
            for name in ("count", "first_id", "last_id", "sessions")
        ),
        sa.Column("first_at", TEXT, nullable=False),
        sa.Column("last_at", TEXT, nullable=False),
        sa.Column("session_id", NUMBER),
    )
    op.create_index("idx_event_groups_last", "event_groups", ["last_id"])
    op.create_table(
        "memory_views",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
    )
    sqlite = op.get_bind().dialect.name == "sqlite"
    create = maintained.SQLITE if sqlite else maintained.POSTGRES
    for statement in (*maintained.FILL, *create):
        op.execute(sa.text(statement))
    op.drop_index("idx_history_memory", "history")
    op.create_index("idx_history_memory", "history", ["memory_id", "id", "at"])
    op.create_index(
        "idx_memories_facets",
        "memories",
        ["service", "category", "project", "active", "created_at"],
    )
    for table, column in REFERRING:  # a session is removed in the time of its own rows
        op.create_index(
            f"idx_{table}_{column}",
            table,
            [column],
            sqlite_where=sa.text(f"{column} IS NOT NULL"),
            postgresql_where=sa.text(f"{column} IS NOT NULL"),
        )
