"""The tables of model sessions, of the graph and of scheduled checks, as SQL Core sees them."""

import sqlalchemy as sa

from lamplighter.repository.store.dialect import (
    NUMBER,
    Flag,
    Json,
    UTCDateTime,
    metadata,
    optional,
    required,
)

retellings = sa.Table(
    "retellings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    *required(sa.Text, "query", "injected"),
    sa.Column("tokens", NUMBER, nullable=False),
    sa.Column("placements", Json, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

transcript_messages = sa.Table(
    "transcript_messages",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    *required(sa.Text, "key", "role", "text"),
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


aliases = sa.Table(
    "aliases",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("entity_id", NUMBER, nullable=False),
    *required(sa.Text, "project", "name", "folded", "source"),
    sa.Column("created_at", UTCDateTime, nullable=False),
)

graph_evidence = sa.Table(
    "graph_evidence",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    *optional(NUMBER, "entity_id", "relationship_id"),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("source_id", NUMBER, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("ended_at", UTCDateTime),
)

graph_steps = sa.Table(
    "graph_steps",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("act_id", NUMBER, nullable=False),
    sa.Column("table_name", sa.Text, nullable=False),
    sa.Column("row_id", NUMBER, nullable=False),
    *optional(Json, "before", "after"),
)

graph_position = sa.Table(
    "graph_position",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("seq", NUMBER, nullable=False),
    sa.Column("memory_id", NUMBER),
    sa.Column("services", sa.Text, nullable=False),
)

organizer_sources = sa.Table(
    "organizer_sources",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("ref", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("version", NUMBER, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("run_id", NUMBER, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

notebook_pages = sa.Table(
    "notebook_pages",
    metadata,
    sa.Column("home", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    *required(sa.Text, "text", "previous", "digest"),
    sa.Column("earlier", Json, nullable=False),
    sa.Column("pending", Flag, nullable=False),
    sa.Column("written_at", UTCDateTime),
)

notebook_lines = sa.Table(
    "notebook_lines",
    metadata,
    sa.Column("home", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Index("idx_notebook_lines_path", "home", "path"),
)

notebook_positions = sa.Table(
    "notebook_positions",
    metadata,
    sa.Column("home", sa.Text, primary_key=True),
    sa.Column("seq", NUMBER, nullable=False),
    sa.Column("memory_id", NUMBER),
)

notebook_reviews = sa.Table(
    "notebook_reviews",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("home", sa.Text, nullable=False),
    sa.Column("pages", Json, nullable=False),
    sa.Column("resolution", sa.Text),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("resolved_at", UTCDateTime),
    sqlite_autoincrement=True,
)

verifications = sa.Table(
    "verifications",
    metadata,
    sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", NUMBER, nullable=False),
    *required(Json, "evidence", "untested"),
    *optional(UTCDateTime, "checked_at", "marked_at"),
    sa.Column("mark", sa.Text, nullable=False),
)

verification_position = sa.Table(
    "verification_position",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("event_id", NUMBER, nullable=False),
)

check_series = sa.Table(
    "check_series",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    *required(sa.Text, "service", "name", "kind", "state"),
    *optional(UTCDateTime, "changed_at", "checked_at"),
    sa.Column("streak", NUMBER, nullable=False),
    sa.Column("latency_ms", sa.Double),
    sa.Column("status", NUMBER),
    *required(NUMBER, "attempts", "late_ms"),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("silent", Flag, nullable=False),
    *optional(UTCDateTime, "folded_to", "day_folded_to"),
    sa.Column("latencies", Json, nullable=False),
)

check_points = sa.Table(
    "check_points",
    metadata,
    sa.Column("series_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("at", UTCDateTime, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("latency_ms", sa.Double),
    sa.Column("status", NUMBER),
    *required(NUMBER, "attempts", "late_ms"),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("silent", Flag, nullable=False),
)

check_aggregates = sa.Table(
    "check_aggregates",
    metadata,
    sa.Column("span", sa.Text, primary_key=True),
    sa.Column("series_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("at", UTCDateTime, primary_key=True),
    *required(NUMBER, "count", "failures", "warnings"),
    *optional(sa.Double, "p50_ms", "p95_ms", "max_ms"),
    *required(NUMBER, "silent", "silent_failures"),
)

declarations = sa.Table(
    "declarations",
    metadata,
    sa.Column("service", sa.Text, primary_key=True),
    sa.Column("configured", sa.Text, nullable=False),
)
incident_sessions = sa.Table(
    "incident_sessions",
    metadata,
    sa.Column("session_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("incident_id", NUMBER, nullable=False),
)

incident_entries = sa.Table(
    "incident_entries",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("incident_id", NUMBER, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("service", sa.Text),
    sa.Column("text", sa.Text, nullable=False),
)

push_checks = sa.Table(
    "push_checks",
    metadata,
    sa.Column("service", sa.Text, primary_key=True),
    sa.Column("check", sa.Text, primary_key=True),
    sa.Column("schedule", sa.Text, nullable=False),
    sa.Column("counted_from", UTCDateTime, nullable=False),
    sa.Column("started_at", UTCDateTime),
    sa.Column("overdue", Flag, nullable=False),
    sa.Column("key_hash", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("evaluated_to", NUMBER, nullable=False),
)

memory_health = sa.Table(
    "memory_health",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("trigger", sa.Text, nullable=False),
    sa.Column("compared_at", UTCDateTime),
    sa.Column("figures", Json, nullable=False),
    sqlite_autoincrement=True,
)

event_groups = sa.Table(
    "event_groups",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("service", sa.Text),
    sa.Column("text", sa.Text, nullable=False),
    *required(NUMBER, "count", "first_id", "last_id", "sessions"),
    *required(UTCDateTime, "first_at", "last_at"),
    sa.Column("session_id", NUMBER),
)
"""Groups of equal events: triggers maintain them, see `repository.upkeep.maintained`."""

memory_views = sa.Table(
    "memory_views",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
)
"""Memories that a view of the list shows; triggers maintain them."""

memory_periods = sa.Table(
    "memory_periods",
    metadata,
    sa.Column("held_to", sa.Text, primary_key=True),
    sa.Column("held_from", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("entry_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("present", NUMBER, nullable=False),
    *optional(sa.Text, "service", "category", "project"),
    sa.Column("active", NUMBER),
    sa.Column("confidence", sa.Double),
    sa.Column("updated_at", sa.Text),
    sa.Column("session_id", NUMBER),
    sa.Column("other_text", sa.Text),
)
"""The periods of each memory with its values; triggers maintain them. `held_to` "~" is now.

`entry_id` is the history entry that ended the period; 0 for the current period. `other_text` is the
title and text of the memory if they differed from the current text.
"""
