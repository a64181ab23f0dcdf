"""Find events by when they happened, and count them by it without reading their words."""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Find events by when they happened, and count them by it without reading their words."""
    op.create_index("idx_events_at", "events", ["created_at", "level"])
