"""Keep which sessions, events and incidents the organizer has read, each by a hash of its text."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    """A table of what was read; a text that changes is read again."""
    op.create_table(
        "organizer_sources",
        sa.Column("source", TEXT, primary_key=True),
        sa.Column("ref", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("at", TEXT, nullable=False),
    )
