"""Keep what each observation says once it is analysed, and which review a change was part of."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Keep what each observation says once it is analysed, and which review a change was part of.

    A memory without a row here, such as one written by hand, is analysed when it is first needed.
    """
    op.create_table(
        "analyses",
        sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("lexicon", TEXT, nullable=False),
        sa.Column("observation", TEXT, nullable=False),
        sa.Column("terms", TEXT, nullable=False),
        sa.Column("analysis", TEXT, nullable=False),
    )
    op.create_index("idx_memories_hash", "memories", ["content_hash"])
    op.add_column("history", sa.Column("review_id", NUMBER))
    op.create_index("idx_history_review", "history", ["review_id", "id"])
