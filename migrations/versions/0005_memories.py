"""Keep what was learned: the table and indexes of SPEC-0015, exactly."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Keep what was learned: the table and indexes of SPEC-0015, exactly."""
    confidence = sa.Double().with_variant(sa.REAL(), "sqlite")
    op.create_table(
        "memories",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("service", TEXT),
        sa.Column("category", TEXT, nullable=False),
        sa.Column("observation", TEXT, nullable=False),
        sa.Column("confidence", confidence, nullable=False, server_default=sa.text("0.7")),
        sa.Column("active", NUMBER, nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("updated_at", TEXT, nullable=False),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("tier", NUMBER, nullable=False, server_default=sa.text("1")),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_memories_service", "memories", ["service", "active"])
    op.create_index("idx_memories_confidence", "memories", ["confidence", "active"])
    op.create_index("idx_memories_category", "memories", ["category"])
