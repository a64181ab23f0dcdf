"""Keep the change feed; its numbers are never used again."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Keep the change feed; its numbers are never used again."""
    op.create_table(
        "changes",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("entity", sa.Text, nullable=False),
        sa.Column("entity_id", sa.Integer, nullable=False),
        sa.Column("op", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="0"),
        sa.Column("row", sa.Text),
        sa.Column("at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_changes_at", "changes", ["at"])
