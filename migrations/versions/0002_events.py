"""Keep what happened: one row an event."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Keep what happened: one row an event."""
    op.create_table(
        "events",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("level", TEXT, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("tier", NUMBER, nullable=False, server_default="0"),
        sa.Column("source", TEXT, nullable=False, server_default="marker"),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sa.CheckConstraint("level IN ('info', 'warning', 'critical')", name="ck_events_level"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_events_level", "events", ["level", "id"])
    op.create_index("idx_events_service", "events", ["service", "id"])
    op.create_index("idx_events_session", "events", ["session_id", "id"])
