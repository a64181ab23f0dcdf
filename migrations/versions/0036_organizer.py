"""Keep the runs of the organizer."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """There has been no run."""
    op.create_table(
        "organizer_runs",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("trigger", TEXT, nullable=False),
        sa.Column("started_at", TEXT, nullable=False),
        sa.Column("heartbeat_at", TEXT, nullable=False),
        sa.Column("ended_at", TEXT),
        sa.Column("act_id", NUMBER),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("counts", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
