"""The table of what memories mean, as SQL Core sees it."""

import sqlalchemy as sa

from lamplighter.repository.columns import NUMBER, UTCDateTime, metadata

embeddings = sa.Table(
    "embeddings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column(
        "memory_id",
        NUMBER,
        sa.ForeignKey("memories.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("of", sa.Text, nullable=False),
    sa.Column("code", sa.LargeBinary, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)
