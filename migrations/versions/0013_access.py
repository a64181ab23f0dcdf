"""Keep who may come in: logins, one-time codes and tokens, of their secrets only the hashes."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Keep who may come in: logins, one-time codes and tokens, of their secrets only the hashes."""
    op.create_table(
        "tokens",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("name", TEXT, nullable=False, server_default=""),
        sa.Column("scopes", TEXT, nullable=False),
        sa.Column("secret_hash", TEXT, nullable=False),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT),
        sa.Column("used_at", TEXT),
        sa.Column("revoked_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_tokens_session", "tokens", ["session_id"])
    op.create_table(
        "logins",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("secret_hash", TEXT, nullable=False),
        sa.Column("agent", TEXT, nullable=False, server_default=""),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("seen_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.Column("ended_at", TEXT),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "codes",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("secret_hash", TEXT, nullable=False, unique=True),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.Column("used_at", TEXT),
        sqlite_autoincrement=True,
    )
