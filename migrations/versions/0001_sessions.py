"""Keep what ran: one row a session."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Keep what ran: one row a session."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("external_id", sa.Text),
        sa.Column("agent", sa.Text),
        sa.Column("project", sa.Text, nullable=False, server_default="ops"),
        sa.Column("tier", sa.Integer, nullable=False, server_default="1"),
        sa.Column("engine", sa.Text, nullable=False, server_default="probe"),
        sa.Column("model", sa.Text),
        sa.Column("trigger", sa.Text, nullable=False, server_default="scheduled"),
        sa.Column("status", sa.Text, nullable=False, server_default="running"),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("prompt", sa.Text, nullable=False, server_default=""),
        sa.Column("parent_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("services", sa.Text),
        sa.Column("dry_run", sa.Integer, nullable=False, server_default="0"),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.Column("exit_code", sa.Integer),
        sa.Column("response", sa.Text, nullable=False, server_default=""),
        sa.Column("summary", sa.Text, nullable=False, server_default=""),
        sa.Column("cost_usd", sa.Double),
        sa.Column("turns", sa.Integer),
        sa.Column("duration_ms", sa.Integer),
        sa.Column("log_offset", sa.Integer, nullable=False, server_default="0"),
        sa.Column("learned", sa.Integer, nullable=False, server_default="0"),
        sa.Column("reinforced", sa.Integer, nullable=False, server_default="0"),
        sa.Column("events", sa.Integer, nullable=False, server_default="0"),
        sa.Column("ignored", sa.Integer, nullable=False, server_default="0"),
        sa.Column("stop_requested_at", sa.Text),
        sa.Column("leader_epoch", sa.Integer, nullable=False, server_default="0"),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_sessions_status", "sessions", ["status", "id"])
    op.create_index("idx_sessions_external", "sessions", ["external_id"])
