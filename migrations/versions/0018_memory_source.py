"""Find the memories of the newest session without reading all of them."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Find the memories of the newest session without reading all of them."""
    op.create_index("idx_memories_source", "memories", [sa.text("coalesce(session_id, 0)"), "id"])
