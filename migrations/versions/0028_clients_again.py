"""Keep whose trace a request is of, and when a prompt was taken back; find the newest at once."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT

revision = "0028"
down_revision = "0027"

DIALECTS = ("sqlite", "postgresql")
KNOWLEDGE = "category NOT IN ('timing', 'dependency', 'behavior', 'remediation', 'maintenance')"
CLIENTS = "trigger = 'client'"


def upgrade() -> None:
    """Keep whose trace a request is of, and when a prompt was taken back; find the newest."""
    op.add_column("requests", sa.Column("traceparent", TEXT))
    op.add_column("client_prompts", sa.Column("deleted_at", TEXT))
    for name, table, columns, where in (
        ("idx_memories_known", "memories", ["id"], KNOWLEDGE),
        ("idx_memories_scope", "memories", ["scope", "id"], KNOWLEDGE),
        ("idx_sessions_clients", "sessions", ["id"], CLIENTS),
        ("idx_sessions_client_project", "sessions", ["project", "id"], CLIENTS),
    ):
        only = {f"{each}_where": sa.text(where) for each in DIALECTS}
        op.create_index(name, table, columns, **only)
