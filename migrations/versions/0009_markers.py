"""Keep what became of each marker, and each look at a service."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Keep what became of each marker, and each look at a service."""
    op.create_table(
        "markers",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("offset", NUMBER, nullable=False),
        sa.Column("item", NUMBER, nullable=False),
        sa.Column("line", NUMBER, nullable=False),
        sa.Column("what", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=False, server_default=""),
        sa.Column("reason", TEXT, nullable=False, server_default=""),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("category", TEXT),
        sa.Column("memory_id", NUMBER),
        sa.Column("event_id", NUMBER),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_markers_session", "markers", ["session_id", "id"])
    op.create_table(
        "checks",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("service", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("ok", NUMBER, nullable=False),
        sa.Column("status", NUMBER),
        sa.Column("latency_ms", sa.Double),
        sa.Column("attempts", NUMBER, nullable=False, server_default="1"),
        sa.Column("flapped", NUMBER, nullable=False, server_default="0"),
        sa.Column("detail", TEXT, nullable=False, server_default=""),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_checks_service", "checks", ["service", "name", "id"])
    op.create_index("idx_checks_at", "checks", ["at"])
