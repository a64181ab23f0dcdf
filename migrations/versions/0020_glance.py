"""Tell what ran and what was learned since a moment without reading whole rows."""

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Tell what ran and what was learned since a moment without reading whole rows."""
    told = ["started_at", "tier", "status", "cost_usd", "turns"]
    op.create_index("idx_sessions_started", "sessions", told)
    op.create_index("idx_history_cause", "history", ["cause", "at", "id"])
