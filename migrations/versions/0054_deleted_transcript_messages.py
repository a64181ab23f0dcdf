"""Let a message of a transcript be deleted with the prompt that it repeats."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    """Keep when a message was deleted; an undo of the deletion removes the moment."""
    op.add_column("transcript_messages", sa.Column("deleted_at", TEXT))
