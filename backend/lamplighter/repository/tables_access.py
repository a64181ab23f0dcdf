"""The tables of who may come in, as SQL Core sees them."""

import sqlalchemy as sa

from lamplighter.repository.columns import NUMBER, Json, UTCDateTime, metadata

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("scopes", Json, nullable=False),
    sa.Column("secret_hash", sa.Text, nullable=False),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("expires_at", UTCDateTime),
    sa.Column("used_at", UTCDateTime),
    sa.Column("revoked_at", UTCDateTime),
    sa.Column("version", NUMBER, nullable=False),
    sa.Column("agent", sa.Text),
)

logins = sa.Table(
    "logins",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("secret_hash", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("seen_at", UTCDateTime, nullable=False),
    sa.Column("expires_at", UTCDateTime, nullable=False),
    sa.Column("ended_at", UTCDateTime),
)

codes = sa.Table(
    "codes",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("secret_hash", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("expires_at", UTCDateTime, nullable=False),
    sa.Column("used_at", UTCDateTime),
)
