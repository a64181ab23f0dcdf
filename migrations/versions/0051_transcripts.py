"""Keep the transcripts that users of interactive sessions hand over, for the organizer."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    """Keep one row for each message of a user or a model; a message is kept once."""
    op.create_table(
        "transcript_messages",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "idx_transcript_messages", "transcript_messages", ["session_id", "key"], unique=True
    )
