"""The tables, as SQL Core sees them, and the conversion of rows to declared entities.

migrations/ creates the tables; a test compares the two.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from threading import RLock
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from lamplighter.domain.fields import DeclaredField, declared_fields
from lamplighter.repository.store.dialect import (
    NUMBER,
    Flag,
    Json,
    LenientJson,
    LenientMoment,
    UTCDateTime,
    metadata,
    optional,
    required,
)
from lamplighter.repository.store.session_tables import aliases as aliases
from lamplighter.repository.store.session_tables import check_aggregates as check_aggregates
from lamplighter.repository.store.session_tables import check_points as check_points
from lamplighter.repository.store.session_tables import check_series as check_series
from lamplighter.repository.store.session_tables import declarations as declarations
from lamplighter.repository.store.session_tables import graph_evidence as graph_evidence
from lamplighter.repository.store.session_tables import graph_position as graph_position
from lamplighter.repository.store.session_tables import graph_steps as graph_steps
from lamplighter.repository.store.session_tables import imports as imports
from lamplighter.repository.store.session_tables import incident_entries as incident_entries
from lamplighter.repository.store.session_tables import incident_sessions as incident_sessions
from lamplighter.repository.store.session_tables import notebook_lines as notebook_lines
from lamplighter.repository.store.session_tables import notebook_pages as notebook_pages
from lamplighter.repository.store.session_tables import notebook_positions as notebook_positions
from lamplighter.repository.store.session_tables import notebook_reviews as notebook_reviews
from lamplighter.repository.store.session_tables import retellings as retellings
from lamplighter.repository.store.session_tables import trash_imports as trash_imports

T = TypeVar("T")

codes = sa.Table(
    "codes",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("secret_hash", sa.Text, nullable=False),
    *required(UTCDateTime, "created_at", "expires_at"),
    sa.Column("used_at", UTCDateTime),
)


findings = sa.Table(
    "findings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    *required(sa.Text, "service", "check", "stage"),
    sa.Column("cause", sa.Text),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

checks = sa.Table(
    "checks",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    *required(sa.Text, "service", "name", "kind"),
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
    *required(NUMBER, "looks", "failed", "warned"),
)


STEP: Final = 2**40
"""The numbers of each part of the index start at a multiple of this, plus the ID of the row."""

BASES: Final[Mapping[str, int]] = {
    "memory": 0,
    "session": STEP,
    "event": 2 * STEP,
    "page": 4 * STEP,
}
ASIDE: Final = 3 * STEP
"""The part of inactive memories; searches read this part only on request."""

INDEX: Final = "terms_index"
VOCABULARY: Final = "terms_vocabulary"
FIELDS: Final = ("title", "text", "keys", "around")

terms = sa.Table(
    "terms",
    metadata,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
    *required(sa.Text, *FIELDS, "scope"),
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
    *required(sa.Text, "model", "of"),
    sa.Column("code", sa.LargeBinary, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)


KNOWLEDGE = "category NOT IN ('timing', 'dependency', 'behavior', 'remediation', 'maintenance')"
CONFIDENCE: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

history = sa.Table(
    "history",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    *required(NUMBER, "memory_id", "version"),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("session_id", NUMBER),
    *required(sa.Text, "cause", "reason"),
    *optional(Json, "before", "after"),
    *optional(NUMBER, "review_id", "act_id"),
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
    *optional(NUMBER, "memory_id", "review_id"),
    sa.Column("service", sa.Text),
    sa.Column("changed", NUMBER),
    sa.Column("subject", sa.Text),
)

links = sa.Table(
    "links",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    *required(NUMBER, "memory_id", "target_id"),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("session_id", NUMBER),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("act_id", NUMBER),
)

analyses = sa.Table(
    "analyses",
    metadata,
    sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
    *required(sa.Text, "lexicon", "observation", "terms", "analysis"),
)

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    *required(NUMBER, "epoch", "pid"),
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
    *required(NUMBER, "memory_id", "version"),
    sa.Column("position", NUMBER),
    *required(sa.Text, "why", "line"),
    sa.Column("retelling", NUMBER),
)

prompts = sa.Table(
    "prompts",
    metadata,
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), primary_key=True),
    *required(sa.Text, "system", "injected", "message"),
    *required(NUMBER, "tokens", "budget"),
)

TYPES: Final[Mapping[type[Any], Any]] = {
    bool: Flag,
    int: NUMBER,
    float: sa.Double,
    datetime: UTCDateTime,
    tuple: Json,
    Mapping: Json,
}
_PARENTS: Final = {
    "session_id": "sessions.id",
    "parent_id": "sessions.id",
    "child_id": "sessions.id",
    "use_id": "cooldowns.id",
    "replaces": "approvals.id",
    "request_id": "requests.id",
}
"""The columns that columns of these names reference, in every table."""

_LENIENT: Final[Mapping[type[Any], Any]] = {
    bool: Flag,
    int: NUMBER,
    float: CONFIDENCE,
    datetime: LenientMoment,
    tuple: LenientJson,
    dict: LenientJson,
}
"""People edit memories in the database too: their columns are read leniently."""

_ENTITIES: Final = {
    "alerts": "services.alert.AlertIncident",
    "approvals": "actions.approval.Approval",
    "changes": "change.Change",
    "client_prompts": "clients.client_prompt.ClientPrompt",
    "cooldowns": "services.cooldown.CooldownUse",
    "devices": "access.access.Device",
    "entities": "graph.entity.Entity",
    "escalations": "sessions.handoff.Escalation",
    "events": "services.event.Event",
    "halts": "actions.halt.Halt",
    "incident_members": "services.incident.IncidentMember",
    "incidents": "services.incident.Incident",
    "learned_facts": "learning.facts.LearnedFact",
    "logins": "access.access.Login",
    "markers": "sessions.marker_results.MarkerResult",
    "memories": "memory.memory.Memory",
    "memory_checks": "verify.attached.MemoryCheck",
    "notebook_texts": "search.search.NotebookText",
    "notices": "services.notice.Notice",
    "organizer_runs": "organize.run.OrganizerRun",
    "outcomes": "learning.outcome.OutcomeRecord",
    "push_signals": "services.checks.push.PushSignal",
    "relationships": "graph.entity.Relationship",
    "requests": "sessions.session.SessionRequest",
    "reviews": "memory.review.Review",
    "searches": "search.search.RecordedSearch",
    "service_pauses": "services.checks.silence.ServicePause",
    "session_activity": "clients.activity.SessionActivity",
    "sessions": "sessions.session.Session",
    "tokens": "access.access.Token",
}
"""Tables of declared entities, each built at its first use.

Building a table imports the module of its entity. A command that reads memories imports no others.
"""

_MORE: Final[Mapping[str, Sequence[sa.Column[Any]]]] = {
    "cooldowns": (sa.Column("act_id", NUMBER),),
    "incidents": (sa.Column("learned_at", UTCDateTime), sa.Column("moved", Json)),
    "logins": (sa.Column("secret_hash", sa.Text, nullable=False),),
    "notebook_texts": (sa.Column("home", sa.Text, nullable=False),),
    "tokens": (sa.Column("secret_hash", sa.Text, nullable=False),),
}
"""Columns that are not fields of an entity."""

_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "changes": ("seq",),
    "incident_members": ("incident_id", "service"),
    "learned_facts": ("memory_id",),
}
"""Primary keys other than `id`."""

_REFERENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "alerts": {"idx_alerts_request": "request_id"},
    "approvals": {"idx_approvals_use": "use_id", "idx_approvals_replaces": "replaces"},
    "incidents": {"idx_incidents_request": "request_id"},
}
"""Indexes of columns that few rows fill: removing a row looks up the references to it."""

_making: Final = RLock()


def __getattr__(name: str) -> sa.Table:
    """Return a table of an entity, made at its first use."""
    if name not in _ENTITIES and name != "trash":
        raise AttributeError(f"There is no table {name}.")
    with _making:
        if name not in metadata.tables:
            globals()[name] = _trash() if name == "trash" else _entity_table(name)
    return metadata.tables[name]


def complete_metadata() -> sa.MetaData:
    """Return the metadata of all tables, including those of the entities."""
    for name in (*_ENTITIES, "trash"):
        __getattr__(name)
    return metadata


def _entity_table(name: str) -> sa.Table:
    module, _, entity = _ENTITIES[name].rpartition(".")
    declared = getattr(import_module(f"lamplighter.domain.{module}"), entity)
    types = {"memories": _LENIENT}.get(name, TYPES)
    made = table(name, declared, *_MORE.get(name, ()), types=types, keys=_KEYS.get(name, ("id",)))
    for index, column in _REFERENCES.get(name, {}).items():
        reference_index(index, made.c[column])
    return made


def _trash() -> sa.Table:
    return sa.Table(
        "trash",
        metadata,
        *(
            sa.Column(each.name, each.type, primary_key=each.primary_key, nullable=each.nullable)
            for each in __getattr__("memories").columns
        ),
        sa.Column("deleted_at", UTCDateTime, nullable=False),
        sa.Column("deleted_by", sa.Text, nullable=False),
        sa.Column("act_id", NUMBER),
    )


def table(
    name: str,
    entity: type[Any],
    *more: sa.Column[Any],
    types: Mapping[type[Any], Any],
    keys: Collection[str],
) -> sa.Table:
    """Build the table of an entity; `more` are columns that are not fields of the entity."""
    stored = [each for each in declared_fields(entity).values() if each.declared.stored]
    return sa.Table(name, metadata, *(_column(each, types, keys) for each in stored), *more)


def reference_index(name: str, column: sa.Column[Any]) -> None:
    """Declare the index that finds the few rows which reference a row to be removed."""
    some = column.is_not(None)
    sa.Index(name, column, sqlite_where=some, postgresql_where=some)


def reader(entity: type[T]) -> Callable[[Any], T]:
    """Return a function that converts a row to an entity, ignoring other columns."""
    stored = [each for each in declared_fields(entity).values() if each.declared.stored]
    columns = [(each.name, each.column) for each in stored]
    converted: list[tuple[str, Callable[[Any], Any]]] = [
        (each.name, each.choices or tuple)
        for each in stored
        if each.choices or each.value_type is tuple
    ]

    def read(row: Any) -> T:
        values = {name: row[column] for name, column in columns}
        for name, convert in converted:
            if values[name] is not None:
                values[name] = convert(values[name])
        return entity(**values)

    return read


def _column(
    field: DeclaredField, types: Mapping[type[Any], Any], keys: Collection[str]
) -> sa.Column[Any]:
    parent = _PARENTS.get(field.name)
    return sa.Column(
        field.column,
        types.get(field.value_type, sa.Text),
        *((sa.ForeignKey(parent),) if parent else ()),
        primary_key=field.name in keys,
        nullable=field.nullable,
    )
