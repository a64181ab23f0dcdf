"""Keep the results of scheduled checks as time series, and the alarms that they raise."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    """Four tables and their indexes; the results of sessions stay where they are."""
    op.create_table("check_series", *_series())
    op.create_index("uq_check_series", "check_series", ["service", "name"], unique=True)
    op.create_index("idx_check_series_state", "check_series", ["state"])
    op.create_table("check_points", *_point(), sqlite_with_rowid=False)
    op.create_table(
        "check_aggregates",
        sa.Column("span", TEXT, primary_key=True),
        sa.Column("series_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("at", TEXT, primary_key=True),
        *(sa.Column(name, NUMBER, nullable=False) for name in ("count", "failures", "warnings")),
        *(sa.Column(name, sa.Double()) for name in ("p50_ms", "p95_ms", "max_ms")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "check_alarms",
        sa.Column("service", TEXT, primary_key=True),
        sa.Column("opened_at", TEXT, nullable=False),
        sa.Column("request_id", NUMBER),
        sa.Column("joined", NUMBER, nullable=False),
        sa.Column("closed_at", TEXT),
    )


def _series() -> list[sa.Column]:
    return [
        sa.Column("id", NUMBER, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("service", "name", "kind", "state")),
        sa.Column("changed_at", TEXT),
        sa.Column("checked_at", TEXT),
        sa.Column("streak", NUMBER, nullable=False),
        sa.Column("latency_ms", sa.Double()),
        sa.Column("status", NUMBER),
        sa.Column("attempts", NUMBER, nullable=False),
        sa.Column("late_ms", NUMBER, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("folded_to", TEXT),
        sa.Column("day_folded_to", TEXT),
    ]


def _point() -> list[sa.Column]:
    return [
        sa.Column("series_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("at", TEXT, primary_key=True),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("latency_ms", sa.Double()),
        sa.Column("status", NUMBER),
        sa.Column("attempts", NUMBER, nullable=False),
        sa.Column("late_ms", NUMBER, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
    ]
