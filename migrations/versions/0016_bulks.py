"""Keep acts on many memories, so that each can be undone as one."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Keep acts on many memories, so that each can be undone as one."""
    op.create_table(
        "bulks",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("undoes", NUMBER),
        sa.Column("created_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.add_column("history", sa.Column("bulk_id", NUMBER))
    # only what was part of one, so that every other entry costs nothing
    of_a_bulk = sa.text("bulk_id IS NOT NULL")
    op.create_index(
        "idx_history_bulk",
        "history",
        ["bulk_id", "id"],
        sqlite_where=of_a_bulk,
        postgresql_where=of_a_bulk,
    )
    # a memory that is deleted for good takes its words out of the feed
    op.create_index("idx_changes_entity", "changes", ["entity", "entity_id"])
    # how many memories sessions could be told is all but these
    knowledge = sa.text(
        "category NOT IN ('timing', 'dependency', 'behavior', 'remediation', 'maintenance')"
    )
    op.create_index(
        "idx_memories_knowledge",
        "memories",
        ["category", "active", "confidence"],
        sqlite_where=knowledge,
        postgresql_where=knowledge,
    )
