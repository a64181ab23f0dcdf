"""Keep what the users of clients asked, and how many messages their sessions had."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Keep what the users of clients asked, and how many messages their sessions had."""
    op.add_column("sessions", sa.Column("messages", NUMBER))
    op.create_table(
        "client_prompts",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("project", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_client_prompts_session", "client_prompts", ["session_id", "id"])
    op.create_index("idx_client_prompts_project", "client_prompts", ["project", "id"])
