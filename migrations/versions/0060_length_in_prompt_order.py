"""Read from the index of prompts which memories are short enough for the rest of a budget."""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"

ORDER = ["active", sa.text("confidence DESC"), sa.text("updated_at DESC"), "id", "category"]


def upgrade() -> None:
    """A saved memory writes one entry as before, which is two bytes longer."""
    op.drop_index("idx_memories_told", "memories")
    op.create_index("idx_memories_told", "memories", [*ORDER, sa.text("length(observation)")])
