"""Keep the cases that wait for a person."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Keep the cases that wait for a person: two claims of which at most one may be true."""
    op.create_table(
        "reviews",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("old_id", NUMBER, nullable=False),
        sa.Column("new_id", NUMBER, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("category", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False, server_default=""),
        sa.Column("said", TEXT, nullable=False, server_default=""),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("resolution", TEXT),
        sa.Column("resolved_by", TEXT),
        sa.Column("resolved_at", TEXT),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_reviews_state", "reviews", ["state", "id"])
    op.create_index("idx_reviews_old", "reviews", ["old_id", "state"])
    op.create_index("idx_reviews_new", "reviews", ["new_id", "state"])
    # one open case a pair, whichever of them spoke first
    op.execute(
        sa.text(
            "CREATE UNIQUE INDEX idx_reviews_pair ON reviews"
            " ((CASE WHEN old_id < new_id THEN old_id ELSE new_id END),"
            " (CASE WHEN old_id < new_id THEN new_id ELSE old_id END)) WHERE state = 'open'"
        )
    )
