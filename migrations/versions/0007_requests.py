"""Keep who asked for a session, and which supervisor leads."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Keep who asked for a session, and which supervisor leads."""
    op.create_table(
        "requests",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("state", TEXT, nullable=False, server_default="queued"),
        sa.Column("tier", NUMBER, nullable=False, server_default="1"),
        sa.Column("trigger", TEXT, nullable=False, server_default="manual"),
        sa.Column("services", TEXT),
        sa.Column("prompt", TEXT, nullable=False, server_default=""),
        sa.Column("engine", TEXT),
        sa.Column("dry_run", NUMBER, nullable=False, server_default="0"),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_requests_state", "requests", ["state", "id"])
    op.create_index("idx_requests_session", "requests", ["session_id"])
    op.create_table(
        "leases",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("name", TEXT, nullable=False, unique=True),
        sa.Column("epoch", NUMBER, nullable=False, server_default="0"),
        sa.Column("pid", NUMBER, nullable=False, server_default="0"),
        sa.Column("engine", TEXT, nullable=False, server_default=""),
        sa.Column("interval_seconds", sa.Double, nullable=False, server_default="0"),
        sa.Column("dry_run", NUMBER, nullable=False, server_default="0"),
        sa.Column("session_id", NUMBER),
        sa.Column("heartbeat_at", TEXT, nullable=False),
        sa.Column("next_round_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
