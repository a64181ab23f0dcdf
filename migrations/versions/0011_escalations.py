"""Keep what a session hands to the next tier, and what an investigation found."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Keep what a session hands to the next tier, and what an investigation found."""
    op.create_table(
        "escalations",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("tier", NUMBER, nullable=False),
        sa.Column("service", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("why", TEXT, nullable=False, server_default=""),
        sa.Column("child_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("closed_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sa.UniqueConstraint("session_id", "service"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_escalations_state", "escalations", ["state", "service"])
    op.create_table(
        "findings",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("service", TEXT, nullable=False),
        sa.Column("check", TEXT, nullable=False, server_default=""),
        sa.Column("stage", TEXT, nullable=False),
        sa.Column("cause", TEXT),
        sa.Column("detail", TEXT, nullable=False, server_default=""),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_findings_service", "findings", ["service", "id"])
    op.create_index("idx_findings_session", "findings", ["session_id"])
    op.create_index("idx_sessions_parent", "sessions", ["parent_id"])
