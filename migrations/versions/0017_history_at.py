"""Find what changed since a moment without reading the whole history."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Find what changed since a moment without reading the whole history."""
    op.create_index("idx_history_at", "history", ["at", "memory_id", "id"])
