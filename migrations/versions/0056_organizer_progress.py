"""Keep how far a run of the organizer is: its stage, how much of that is done, and of how much."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    """Runs so far have ended, or show their stage when they continue."""
    op.add_column("organizer_runs", sa.Column("stage", TEXT))
    for name in ("stage_done", "stage_total"):
        op.add_column("organizer_runs", sa.Column(name, NUMBER, nullable=False, server_default="0"))
