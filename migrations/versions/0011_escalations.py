"""Keep what a session hands to the next tier, and what an investigation found."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Keep what a session hands to the next tier, and what an investigation found."""
    op.create_table(
        "escalations",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("tier", sa.Integer, nullable=False),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False, server_default=""),
        sa.Column("child_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("closed_at", sa.Text),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.UniqueConstraint("session_id", "service"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_escalations_state", "escalations", ["state", "service"])
    op.create_table(
        "findings",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("check", sa.Text, nullable=False, server_default=""),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("cause", sa.Text),
        sa.Column("detail", sa.Text, nullable=False, server_default=""),
        sa.Column("at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_findings_service", "findings", ["service", "id"])
    op.create_index("idx_findings_session", "findings", ["session_id"])
    op.create_index("idx_sessions_parent", "sessions", ["parent_id"])
