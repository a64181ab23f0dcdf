"""Keep what was done to a service, so that it is not done too often."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Keep what was done to a service, so that it is not done too often."""
    op.create_table(
        "cooldowns",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("service", TEXT, nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False, server_default=""),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("tier", NUMBER, nullable=False, server_default="0"),
        sa.Column("created_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_cooldowns_service", "cooldowns", ["service", "action", "created_at"])
