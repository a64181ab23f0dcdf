"""Keep each use of a cooldown from its reservation to its outcome."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Keep each use of a cooldown from its reservation to its outcome."""
    for column in (
        sa.Column("name", TEXT, nullable=False, server_default=""),
        sa.Column("attempts", NUMBER, nullable=False, server_default="1"),
        # before this revision a row was made by a marker, and by nothing else
        sa.Column("marked", NUMBER, nullable=False, server_default="1"),
        sa.Column("healthy_after", sa.Double),
        sa.Column("settled_at", TEXT),
        sa.Column("cleared_at", TEXT),
        sa.Column("cleared_by", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
    ):
        op.add_column("cooldowns", column)
