"""Keep the change feed; its numbers are never used again."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Keep the change feed; its numbers are never used again."""
    op.create_table(
        "changes",
        sa.Column("seq", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("entity_id", NUMBER, nullable=False),
        sa.Column("op", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False, server_default="0"),
        sa.Column("row", TEXT),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_changes_at", "changes", ["at"])
