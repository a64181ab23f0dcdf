"""Keep what each session was told, byte for byte, and why."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Keep what each session was told, byte for byte, and why."""
    op.create_table(
        "exposures",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("memory_id", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("position", NUMBER),
        sa.Column("why", TEXT, nullable=False),
        sa.Column("line", TEXT, nullable=False, server_default=""),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_exposures_session", "exposures", ["session_id", "id"])
    op.create_index("idx_exposures_memory", "exposures", ["memory_id", "id"])
    op.create_table(
        "prompts",
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("system", TEXT, nullable=False),
        sa.Column("injected", TEXT, nullable=False),
        sa.Column("message", TEXT, nullable=False),
        sa.Column("tokens", NUMBER, nullable=False),
        sa.Column("budget", NUMBER, nullable=False),
    )
