"""Keep what each action came to in each incident, and the fields behind what that taught."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0044"
down_revision = "0043"

_WORDS = ("service", "check_name", "failure", "evidence", "signatures", "circumstances", "context")
_RESULTS = ("action", "target", "result", "ended", "actor", "memories", "at")


def upgrade() -> None:
    """Two tables. What incidents before this one taught is not known: they count as learned."""
    op.add_column("incidents", sa.Column("configured", TEXT, nullable=False, server_default=""))
    op.add_column("incidents", sa.Column("learned_at", TEXT))
    op.execute("UPDATE incidents SET learned_at = resolved_at WHERE resolved_at IS NOT NULL")
    op.create_index("idx_incidents_learned", "incidents", ["learned_at", "resolved_at"])
    op.create_table(
        "outcomes",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("incident_id", NUMBER, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in (*_WORDS, *_RESULTS)),
        sa.Column("exit_code", NUMBER),
        sa.Column("attempts", NUMBER, nullable=False),
        sa.Column("healthy_seconds", sa.Double),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("by_session", NUMBER),
        sa.Column("tier", NUMBER, nullable=False),
        sa.UniqueConstraint("incident_id", "target", "action"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_outcomes_service", "outcomes", ["service", "id"])
    op.create_table(
        "learned_facts",
        sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, TEXT, nullable=False)
            for name in ("kind", "service", "action", "cause", "sentence", "seconds")
        ),
        sa.Column("signature", TEXT, nullable=False),
        sa.Column("worked", NUMBER, nullable=False),
        sa.Column("tried", NUMBER, nullable=False),
        sa.Column("counted_from", NUMBER, nullable=False),
        sa.Column("at", TEXT, nullable=False),
    )
    op.create_index("idx_learned_facts_service", "learned_facts", ["service"])
