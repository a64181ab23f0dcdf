"""Keep how much of a line was ingested, and which markers a session's limit left in its file."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER

revision = "0031"
down_revision = "0030"

COLUMNS = ("log_step", "markers_left", "left_offset", "left_step")


def upgrade() -> None:
    """Keep a place within a line, how many markers were left, and where the first one stands."""
    for name in COLUMNS:
        op.add_column("sessions", sa.Column(name, NUMBER, nullable=False, server_default="0"))
