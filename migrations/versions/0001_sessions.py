"""Keep what ran: one row a session."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Keep what ran: one row a session."""
    op.create_table(
        "sessions",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("external_id", TEXT),
        sa.Column("agent", TEXT),
        sa.Column("project", TEXT, nullable=False, server_default="ops"),
        sa.Column("tier", NUMBER, nullable=False, server_default="1"),
        sa.Column("engine", TEXT, nullable=False, server_default="probe"),
        sa.Column("model", TEXT),
        sa.Column("trigger", TEXT, nullable=False, server_default="scheduled"),
        sa.Column("status", TEXT, nullable=False, server_default="running"),
        sa.Column("reason", TEXT, nullable=False, server_default=""),
        sa.Column("prompt", TEXT, nullable=False, server_default=""),
        sa.Column("parent_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("services", TEXT),
        sa.Column("dry_run", NUMBER, nullable=False, server_default="0"),
        sa.Column("started_at", TEXT, nullable=False),
        sa.Column("ended_at", TEXT),
        sa.Column("exit_code", NUMBER),
        sa.Column("response", TEXT, nullable=False, server_default=""),
        sa.Column("summary", TEXT, nullable=False, server_default=""),
        sa.Column("cost_usd", sa.Double),
        sa.Column("turns", NUMBER),
        sa.Column("duration_ms", NUMBER),
        sa.Column("log_offset", NUMBER, nullable=False, server_default="0"),
        sa.Column("learned", NUMBER, nullable=False, server_default="0"),
        sa.Column("reinforced", NUMBER, nullable=False, server_default="0"),
        sa.Column("events", NUMBER, nullable=False, server_default="0"),
        sa.Column("ignored", NUMBER, nullable=False, server_default="0"),
        sa.Column("stop_requested_at", TEXT),
        sa.Column("leader_epoch", NUMBER, nullable=False, server_default="0"),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_sessions_status", "sessions", ["status", "id"])
    op.create_index("idx_sessions_external", "sessions", ["external_id"])
