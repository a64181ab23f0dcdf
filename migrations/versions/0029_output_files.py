"""Keep in which home a session's output is, under which name, and whether it was ingested."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0029"
down_revision = "0028"

DIALECTS = ("sqlite", "postgresql")


def upgrade() -> None:
    """Keep in which home a session's output is, under which name, and whether it was ingested."""
    for name in ("home", "host", "uid"):
        op.add_column("sessions", sa.Column(name, TEXT))
    pending = sa.Column("output_pending", NUMBER, nullable=False, server_default="0")
    op.add_column("sessions", pending)
    only = {f"{each}_where": sa.text("output_pending = 1") for each in DIALECTS}
    op.create_index("idx_sessions_pending", "sessions", ["home", "id"], **only)
