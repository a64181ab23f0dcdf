"""Keep a vector of what each memory means, where a model of language is installed."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Keep a vector of what each memory means; it goes when its memory does.

    A memory without a row here, or with one of other words, is embedded in the background.
    `id` grows with each vector that is kept, so that what is new can be asked for.
    """
    op.create_table(
        "embeddings",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column(
            "memory_id",
            NUMBER,
            sa.ForeignKey("memories.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("of", TEXT, nullable=False),
        sa.Column("code", sa.LargeBinary, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
