"""Keep the files and tasks of interactive sessions, for the digests of later ones."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Keep one row for each file, task and subagent of a session."""
    op.create_table(
        "session_activity",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("done", NUMBER, nullable=False),
        sa.Column("updated_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "idx_session_activity", "session_activity", ["session_id", "kind", "key"], unique=True
    )
