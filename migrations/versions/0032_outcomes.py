"""Keep the outcome of a session in words, beside its status."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT

revision = "0032"
down_revision = "0031"

COLUMNS = ("outcome", "outcome_state")


def upgrade() -> None:
    """Sessions that ended before have no outcome: their status is shown."""
    for name in COLUMNS:
        op.add_column("sessions", sa.Column(name, TEXT, nullable=False, server_default=""))
    op.create_index("idx_sessions_outcome", "sessions", ["outcome_state", "ended_at"])
