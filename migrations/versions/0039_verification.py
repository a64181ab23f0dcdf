"""Keep what was tested against the sources, checks attached to memories, and what is to verify."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0039"
down_revision = "0038"

_PAIR = (
    "CREATE UNIQUE INDEX idx_reviews_pair ON reviews"
    " ((CASE WHEN old_id < new_id THEN old_id ELSE new_id END),"
    " (CASE WHEN old_id < new_id THEN new_id ELSE old_id END))"
    " WHERE state = 'open' AND kind <> 'verification'"
)
_CLAIM = (
    "CREATE UNIQUE INDEX idx_reviews_claim ON reviews (old_id, said)"
    " WHERE state = 'open' AND kind = 'verification'"
)


def upgrade() -> None:
    """Keep when a memory was verified, and the last outcome with its evidence."""
    for table in ("memories", "trash"):
        op.add_column(table, sa.Column("verified_at", TEXT))
    op.create_table(
        "verifications",
        sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("untested", TEXT, nullable=False),
        sa.Column("checked_at", TEXT),
        sa.Column("marked_at", TEXT),
        sa.Column("mark", TEXT, nullable=False),
    )
    op.create_index("idx_verifications_marked", "verifications", ["marked_at"])
    op.create_index("idx_verifications_checked", "verifications", ["checked_at", "memory_id"])
    op.create_table(
        "memory_checks",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("memory_id", NUMBER, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("check", TEXT),
        sa.Column("command", TEXT),
        sa.Column("cadence", sa.Double(), nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("next_at", TEXT, nullable=False),
        sa.Column("last_at", TEXT),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_memory_checks_memory", "memory_checks", ["memory_id"])
    op.create_index("idx_memory_checks_next", "memory_checks", ["next_at"])
    op.create_table(
        "verification_position",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("event_id", NUMBER, nullable=False),
    )
    # one open review a pair, but one a claim where a memory failed its verification
    op.drop_index("idx_reviews_pair", "reviews")
    op.execute(sa.text(_PAIR))
    op.execute(sa.text(_CLAIM))
