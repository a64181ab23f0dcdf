"""Keep the measurements of the memory's health, so that trends can be shown."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    """Nothing has been measured."""
    op.create_table(
        "memory_health",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("at", TEXT, nullable=False),
        sa.Column("trigger", TEXT, nullable=False),
        sa.Column("compared_at", TEXT),
        sa.Column("figures", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
