"""Keep what each session was told, byte for byte, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Keep what each session was told, byte for byte, and why."""
    op.create_table(
        "exposures",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("memory_id", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("line", sa.Text, nullable=False, server_default=""),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_exposures_session", "exposures", ["session_id", "id"])
    op.create_index("idx_exposures_memory", "exposures", ["memory_id", "id"])
    op.create_table(
        "prompts",
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("system", sa.Text, nullable=False),
        sa.Column("injected", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("budget", sa.Integer, nullable=False),
    )
