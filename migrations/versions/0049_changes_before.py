"""Keep which events are deployments or changes of configuration, and which repairs did not last."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Earlier events are not read again; of repairs the text said it."""
    op.add_column("events", sa.Column("change", TEXT, nullable=False, server_default=""))
    op.create_index(
        "idx_events_change",
        "events",
        ["service", "id"],
        sqlite_where=sa.text("change <> ''"),
        postgresql_where=sa.text("change <> ''"),
    )
    op.add_column(
        "cooldowns", sa.Column("did_not_last", NUMBER, nullable=False, server_default="0")
    )
    op.execute(
        "UPDATE cooldowns SET did_not_last = 1"
        " WHERE outcome = 'failure' AND text LIKE '%did not last: %'"
    )
    op.create_index("idx_cooldowns_session", "cooldowns", ["session_id"])
