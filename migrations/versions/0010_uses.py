"""Keep each use of a cooldown from its reservation to its outcome."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Keep each use of a cooldown from its reservation to its outcome."""
    for column in (
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="1"),
        # before this revision a row was made by a marker, and by nothing else
        sa.Column("marked", sa.Integer, nullable=False, server_default="1"),
        sa.Column("healthy_after", sa.Double),
        sa.Column("settled_at", sa.Text),
        sa.Column("cleared_at", sa.Text),
        sa.Column("cleared_by", sa.Text),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    ):
        op.add_column("cooldowns", column)
