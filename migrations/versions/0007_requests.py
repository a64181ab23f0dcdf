"""Keep who asked for a session, and which supervisor leads."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Keep who asked for a session, and which supervisor leads."""
    op.create_table(
        "requests",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("state", sa.Text, nullable=False, server_default="queued"),
        sa.Column("tier", sa.Integer, nullable=False, server_default="1"),
        sa.Column("trigger", sa.Text, nullable=False, server_default="manual"),
        sa.Column("services", sa.Text),
        sa.Column("prompt", sa.Text, nullable=False, server_default=""),
        sa.Column("engine", sa.Text),
        sa.Column("dry_run", sa.Integer, nullable=False, server_default="0"),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_requests_state", "requests", ["state", "id"])
    op.create_index("idx_requests_session", "requests", ["session_id"])
    op.create_table(
        "leases",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("epoch", sa.Integer, nullable=False, server_default="0"),
        sa.Column("pid", sa.Integer, nullable=False, server_default="0"),
        sa.Column("engine", sa.Text, nullable=False, server_default=""),
        sa.Column("interval_seconds", sa.Double, nullable=False, server_default="0"),
        sa.Column("dry_run", sa.Integer, nullable=False, server_default="0"),
        sa.Column("session_id", sa.Integer),
        sa.Column("heartbeat_at", sa.Text, nullable=False),
        sa.Column("next_round_at", sa.Text),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
