"""Index what names a request, an action or an approval: these are then removed fast."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"

DIALECTS = ("sqlite", "postgresql")
INDEXES = {
    "idx_alerts_request": ("alerts", "request_id"),
    "idx_incidents_request": ("incidents", "request_id"),
    "idx_approvals_use": ("approvals", "use_id"),
    "idx_approvals_replaces": ("approvals", "replaces"),
}


def upgrade() -> None:
    """Without an index, the database reads all of a table for each row that is removed."""
    for name, (table, column) in INDEXES.items():
        only = {f"{each}_where": sa.text(f"{column} IS NOT NULL") for each in DIALECTS}
        op.create_index(name, table, [column], **only)
