"""Keep what became of each marker, and each look at a service."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Keep what became of each marker, and each look at a service."""
    op.create_table(
        "markers",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("offset", sa.Integer, nullable=False),
        sa.Column("item", sa.Integer, nullable=False),
        sa.Column("line", sa.Integer, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False, server_default=""),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("service", sa.Text),
        sa.Column("category", sa.Text),
        sa.Column("memory_id", sa.Integer),
        sa.Column("event_id", sa.Integer),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_markers_session", "markers", ["session_id", "id"])
    op.create_table(
        "checks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("ok", sa.Integer, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("latency_ms", sa.Double),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="1"),
        sa.Column("flapped", sa.Integer, nullable=False, server_default="0"),
        sa.Column("detail", sa.Text, nullable=False, server_default=""),
        sa.Column("at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_checks_service", "checks", ["service", "name", "id"])
    op.create_index("idx_checks_at", "checks", ["at"])
