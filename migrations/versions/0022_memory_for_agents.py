"""Keep how often what agents know was read and said, what is whole, and whose a session was.

Beside it: which memory came of which row of another system, so that an import may be repeated.
"""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0022"
down_revision = "0021"

DIALECTS = ("sqlite", "postgresql")
TOLD = (
    "active = 1 AND category NOT IN"
    " ('timing', 'dependency', 'behavior', 'remediation', 'maintenance')"
)


def upgrade() -> None:
    """Keep how often a memory was read and said, what is whole, and whose session it was."""
    op.add_column("memories", sa.Column("last_seen_at", TEXT))
    op.add_column("memories", sa.Column("access_count", NUMBER, nullable=False, server_default="0"))
    op.add_column("memories", sa.Column("accessed_at", TEXT))
    op.add_column("memories", sa.Column("distilled", NUMBER, nullable=False, server_default="1"))
    for name, columns, where in (
        ("idx_memories_topic", ["project", "topic_key"], "topic_key IS NOT NULL"),
        ("idx_memories_project", ["project", "id"], None),
        ("idx_memories_recent", ["project", "updated_at", "id"], TOLD),
        ("idx_memories_wide", ["scope", "updated_at", "id"], TOLD),
    ):
        only = {} if where is None else {f"{each}_where": sa.text(where) for each in DIALECTS}
        op.create_index(name, "memories", columns, **only)
    op.create_table(
        "imports",
        sa.Column("ref", TEXT, primary_key=True),
        sa.Column(
            "memory_id", NUMBER, sa.ForeignKey("memories.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("said", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
    )
    op.create_index("idx_imports_memory", "imports", ["memory_id"])
    op.add_column("sessions", sa.Column("directory", TEXT))
    op.add_column("tokens", sa.Column("agent", TEXT))
