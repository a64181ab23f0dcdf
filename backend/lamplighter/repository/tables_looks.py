"""The tables of what looks at services saw, as SQL Core sees them."""

import sqlalchemy as sa

from lamplighter.repository.columns import NUMBER, Flag, UTCDateTime, metadata

findings = sa.Table(
    "findings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("check", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("cause", sa.Text),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

checks = sa.Table(
    "checks",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("ok", Flag, nullable=False),
    sa.Column("status", NUMBER),
    sa.Column("latency_ms", sa.Double),
    sa.Column("attempts", NUMBER, nullable=False),
    sa.Column("flapped", Flag, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("warned", Flag, nullable=False),
)

days = sa.Table(
    "days",
    metadata,
    sa.Column("service", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("looks", NUMBER, nullable=False),
    sa.Column("failed", NUMBER, nullable=False),
    sa.Column("warned", NUMBER, nullable=False),
)
