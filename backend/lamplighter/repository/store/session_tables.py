"""The tables of models at work, as SQL Core sees them: asked, stopped, come in, gone out."""

import sqlalchemy as sa

from lamplighter.repository.store.dialect import NUMBER, Flag, Json, UTCDateTime, metadata

approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("tier", NUMBER, nullable=False),
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("argv", Json, nullable=False),
    sa.Column("shown", Json, nullable=False),
    sa.Column("edited", Flag, nullable=False),
    sa.Column("directory", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("memories", Json, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("replaces", NUMBER, sa.ForeignKey("approvals.id")),
    sa.Column("use_id", NUMBER, sa.ForeignKey("cooldowns.id")),
    sa.Column("decided_by", sa.Text),
    sa.Column("decided_at", UTCDateTime),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("expires_at", UTCDateTime, nullable=False),
    sa.Column("version", NUMBER, nullable=False),
)

halts = sa.Table(
    "halts",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("way", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("pulled_by", sa.Text, nullable=False),
    sa.Column("pulled_at", UTCDateTime, nullable=False),
    sa.Column("released_by", sa.Text),
    sa.Column("released_at", UTCDateTime),
    sa.Column("version", NUMBER, nullable=False),
)

alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("incident", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("service", sa.Text),
    sa.Column("severity", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("details", Json, nullable=False),
    sa.Column("request_id", NUMBER, sa.ForeignKey("requests.id")),
    sa.Column("deliveries", NUMBER, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("last_at", UTCDateTime, nullable=False),
    sa.Column("resolved_at", UTCDateTime),
    sa.Column("version", NUMBER, nullable=False),
)

notices = sa.Table(
    "notices",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("service", sa.Text),
    sa.Column("event_id", NUMBER),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempts", NUMBER, nullable=False),
    sa.Column("next_at", UTCDateTime),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("sent_at", UTCDateTime),
    sa.Column("version", NUMBER, nullable=False),
)

searches = sa.Table(
    "searches",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("hits", Json, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

retellings = sa.Table(
    "retellings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("injected", sa.Text, nullable=False),
    sa.Column("tokens", NUMBER, nullable=False),
    sa.Column("placements", Json, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

client_prompts = sa.Table(
    "client_prompts",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("deleted_at", UTCDateTime),
)

imports = sa.Table(
    "imports",
    metadata,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, sa.ForeignKey("memories.id"), nullable=False),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

trash_imports = sa.Table(
    "trash_imports",
    metadata,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, nullable=False),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)
