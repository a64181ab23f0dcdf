"""Note with each check result whether its service was paused or in a maintenance window."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    """Results so far count in the uptime as before: past windows are not stored."""
    for table, names in (
        ("check_series", ("silent",)),
        ("check_points", ("silent",)),
        ("check_aggregates", ("silent", "silent_failures")),
    ):
        for name in names:
            op.add_column(table, sa.Column(name, NUMBER, nullable=False, server_default="0"))
