"""Keep each day's looks at each service in one row, for strips of many days."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Keep each day's looks at each service in one row, for strips of many days."""
    op.add_column("checks", sa.Column("warned", NUMBER, nullable=False, server_default="0"))
    days = op.create_table(
        "days",
        sa.Column("service", TEXT, primary_key=True),
        sa.Column("day", TEXT, primary_key=True),
        sa.Column("looks", NUMBER, nullable=False, server_default="0"),
        sa.Column("failed", NUMBER, nullable=False, server_default="0"),
        sa.Column("warned", NUMBER, nullable=False, server_default="0"),
    )
    checks = sa.table(
        "checks", sa.column("service"), sa.column("ok"), sa.column("flapped"), sa.column("at")
    )
    day = sa.func.substr(checks.c.at, 1, 10)
    held = sa.select(
        checks.c.service,
        day,
        sa.func.count(),
        sa.func.sum(1 - checks.c.ok),
        sa.func.sum(checks.c.flapped),
    ).group_by(checks.c.service, day)
    op.execute(days.insert().from_select(["service", "day", "looks", "failed", "warned"], held))
    op.create_index("idx_checks_state", "checks", ["service", "name", "ok", "id"])
    op.create_index("idx_checks_session", "checks", ["session_id"])
