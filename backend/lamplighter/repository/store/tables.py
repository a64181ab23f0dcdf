"""The tables, as SQL Core sees them. migrations/ creates them; a test compares the two."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.access.access import Device, Login, Token
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.review import Review
from lamplighter.domain.search.search import SearchLayer
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.handoff import Escalation
from lamplighter.domain.sessions.marker_results import MarkerResult
from lamplighter.domain.sessions.session import Session, SessionRequest
from lamplighter.repository.store.dialect import (
    NUMBER,
    Flag,
    Json,
    LenientJson,
    LenientMoment,
    UTCDateTime,
    metadata,
)
from lamplighter.repository.store.entities import table
from lamplighter.repository.store.session_tables import alerts as alerts
from lamplighter.repository.store.session_tables import aliases as aliases
from lamplighter.repository.store.session_tables import approvals as approvals
from lamplighter.repository.store.session_tables import check_aggregates as check_aggregates
from lamplighter.repository.store.session_tables import check_points as check_points
from lamplighter.repository.store.session_tables import check_series as check_series
from lamplighter.repository.store.session_tables import client_prompts as client_prompts
from lamplighter.repository.store.session_tables import declarations as declarations
from lamplighter.repository.store.session_tables import entities as entities
from lamplighter.repository.store.session_tables import graph_evidence as graph_evidence
from lamplighter.repository.store.session_tables import graph_position as graph_position
from lamplighter.repository.store.session_tables import graph_steps as graph_steps
from lamplighter.repository.store.session_tables import halts as halts
from lamplighter.repository.store.session_tables import imports as imports
from lamplighter.repository.store.session_tables import incident_entries as incident_entries
from lamplighter.repository.store.session_tables import incident_members as incident_members
from lamplighter.repository.store.session_tables import incident_sessions as incident_sessions
from lamplighter.repository.store.session_tables import incidents as incidents
from lamplighter.repository.store.session_tables import learned_facts as learned_facts
from lamplighter.repository.store.session_tables import notebook_lines as notebook_lines
from lamplighter.repository.store.session_tables import notebook_pages as notebook_pages
from lamplighter.repository.store.session_tables import notebook_positions as notebook_positions
from lamplighter.repository.store.session_tables import notebook_reviews as notebook_reviews
from lamplighter.repository.store.session_tables import notebook_texts as notebook_texts
from lamplighter.repository.store.session_tables import notices as notices
from lamplighter.repository.store.session_tables import outcomes as outcomes
from lamplighter.repository.store.session_tables import relationships as relationships
from lamplighter.repository.store.session_tables import retellings as retellings
from lamplighter.repository.store.session_tables import searches as searches
from lamplighter.repository.store.session_tables import session_activity as session_activity
from lamplighter.repository.store.session_tables import trash_imports as trash_imports

tokens = table("tokens", Token, sa.Column("secret_hash", sa.Text, nullable=False))

logins = table("logins", Login, sa.Column("secret_hash", sa.Text, nullable=False))

devices = table("devices", Device)

codes = sa.Table(
    "codes",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("secret_hash", sa.Text, nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("expires_at", UTCDateTime, nullable=False),
    sa.Column("used_at", UTCDateTime),
)


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


STEP: Final = 2**40
"""The numbers of each part of the index begin at a multiple of this; a row's own is added."""

BASES: Final = {
    SearchLayer.MEMORY: 0,
    SearchLayer.SESSION: STEP,
    SearchLayer.EVENT: 2 * STEP,
    SearchLayer.PAGE: 4 * STEP,
}
ASIDE: Final = 3 * STEP
"""The part of inactive memories; searches read this part only on request."""

FIELDS: Final = ("title", "text", "keys", "around")

terms = sa.Table(
    "terms",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in FIELDS),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("size", sa.Double, nullable=False),
)
unindexed = sa.Table(
    "unindexed",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
)
term_totals = sa.Table(
    "term_totals",
    metadata,
    sa.Column("part", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("documents", NUMBER, nullable=False),
    sa.Column("size", sa.Double, nullable=False),
)


embeddings = sa.Table(
    "embeddings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column(
        "memory_id",
        NUMBER,
        sa.ForeignKey("memories.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("of", sa.Text, nullable=False),
    sa.Column("code", sa.LargeBinary, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)


KNOWLEDGE = "category NOT IN ('timing', 'dependency', 'behavior', 'remediation', 'maintenance')"
CONFIDENCE: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

sessions = table("sessions", Session)

events = table("events", Event)

cooldowns = table("cooldowns", CooldownUse, sa.Column("act_id", NUMBER))

escalations = table("escalations", Escalation)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("seq", NUMBER, primary_key=True),
    sa.Column("entity", sa.Text, nullable=False),
    sa.Column("entity_id", NUMBER, nullable=False),
    sa.Column("op", sa.Text, nullable=False),
    sa.Column("version", NUMBER, nullable=False),
    sa.Column("row", sa.Text),
    sa.Column("at", UTCDateTime, nullable=False),
)

_LENIENT: Final[Mapping[type[Any], Any]] = {
    bool: Flag,
    int: NUMBER,
    float: CONFIDENCE,
    datetime: LenientMoment,
    tuple: LenientJson,
    dict: LenientJson,
}
"""People write memories by hand too: their columns read leniently."""


memories = table("memories", Memory, types=_LENIENT)

history = sa.Table(
    "history",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("memory_id", NUMBER, nullable=False),
    sa.Column("version", NUMBER, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("session_id", NUMBER),
    sa.Column("cause", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("before", Json),
    sa.Column("after", Json),
    sa.Column("review_id", NUMBER),
    sa.Column("act_id", NUMBER),
)

acts = sa.Table(
    "acts",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("value", sa.Double),
    sa.Column("undoes", NUMBER),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("memory_id", NUMBER),
    sa.Column("review_id", NUMBER),
    sa.Column("service", sa.Text),
    sa.Column("changed", NUMBER),
    sa.Column("subject", sa.Text),
)

trash = sa.Table(
    "trash",
    metadata,
    *(
        sa.Column(each.name, each.type, primary_key=each.primary_key, nullable=each.nullable)
        for each in memories.columns
    ),
    sa.Column("deleted_at", UTCDateTime, nullable=False),
    sa.Column("deleted_by", sa.Text, nullable=False),
    sa.Column("act_id", NUMBER),
)

links = sa.Table(
    "links",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("memory_id", NUMBER, nullable=False),
    sa.Column("target_id", NUMBER, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("session_id", NUMBER),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("act_id", NUMBER),
)

analyses = sa.Table(
    "analyses",
    metadata,
    sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("lexicon", sa.Text, nullable=False),
    sa.Column("observation", sa.Text, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("analysis", sa.Text, nullable=False),
)

reviews = table("reviews", Review)

requests = table("requests", SessionRequest)

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("epoch", NUMBER, nullable=False),
    sa.Column("pid", NUMBER, nullable=False),
    sa.Column("engine", sa.Text, nullable=False),
    sa.Column("interval_seconds", sa.Double, nullable=False),
    sa.Column("dry_run", Flag, nullable=False),
    sa.Column("session_id", NUMBER),
    sa.Column("heartbeat_at", UTCDateTime, nullable=False),
    sa.Column("next_round_at", UTCDateTime),
    sa.Column("version", NUMBER, nullable=False),
)

exposures = sa.Table(
    "exposures",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("memory_id", NUMBER, nullable=False),
    sa.Column("version", NUMBER, nullable=False),
    sa.Column("position", NUMBER),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("line", sa.Text, nullable=False),
    sa.Column("retelling", NUMBER),
)

prompts = sa.Table(
    "prompts",
    metadata,
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), primary_key=True),
    sa.Column("system", sa.Text, nullable=False),
    sa.Column("injected", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("tokens", NUMBER, nullable=False),
    sa.Column("budget", NUMBER, nullable=False),
)

markers = table("markers", MarkerResult)
