"""Keep who may come in: logins, one-time codes and tokens, of their secrets only the hashes."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Keep who may come in: logins, one-time codes and tokens, of their secrets only the hashes."""
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("used_at", sa.Text),
        sa.Column("revoked_at", sa.Text),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_tokens_session", "tokens", ["session_id"])
    op.create_table(
        "logins",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("seen_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "codes",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.Column("used_at", sa.Text),
        sqlite_autoincrement=True,
    )
