"""Keep metadata of a memory, and when it expires."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT
from lamplighter.repository.store.index_schema import METADATA_POSTGRES, METADATA_SQLITE

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Keep metadata of a memory, and when it expires."""
    for table in ("memories", "trash"):
        op.add_column(table, sa.Column("metadata", TEXT, nullable=False, server_default="{}"))
        op.add_column(table, sa.Column("expires_at", TEXT))
    op.create_index(
        "idx_memories_expires",
        "memories",
        ["expires_at"],
        sqlite_where=sa.text("expires_at IS NOT NULL"),
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )
    sqlite = op.get_bind().dialect.name == "sqlite"
    op.execute(sa.text(METADATA_SQLITE if sqlite else METADATA_POSTGRES))
