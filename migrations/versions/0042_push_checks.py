"""Keep the keys and signals of push checks, and the pauses of services."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    """No key exists, and no service is paused."""
    op.create_table(
        "push_checks",
        sa.Column("service", TEXT, primary_key=True),
        sa.Column("check", TEXT, primary_key=True),
        sa.Column("schedule", TEXT, nullable=False),
        sa.Column("counted_from", TEXT, nullable=False),
        sa.Column("started_at", TEXT),
        sa.Column("overdue", NUMBER, nullable=False),
        sa.Column("key_hash", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("evaluated_to", NUMBER, nullable=False),
    )
    op.create_index("uq_push_checks_key", "push_checks", ["key_hash"], unique=True)
    op.create_table(
        "push_signals",
        sa.Column("id", NUMBER, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("service", "check", "kind")),
        sa.Column("exit_status", NUMBER),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_push_signals_check", "push_signals", ["service", "check", "id"])
    op.create_table(
        "service_pauses",
        sa.Column("id", NUMBER, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("service", "reason", "by")),
        sa.Column("began_at", TEXT, nullable=False),
        sa.Column("until", TEXT),
        sa.Column("ended_at", TEXT),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_service_pauses_open", "service_pauses", ["ended_at"])
