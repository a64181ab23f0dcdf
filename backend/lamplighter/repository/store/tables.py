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
)

T = TypeVar("T")

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

KNOWLEDGE = "category NOT IN ('timing', 'dependency', 'behavior', 'remediation', 'maintenance')"
CONFIDENCE: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

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
    "markers": "sessions.markers.MarkerResult",
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

_COLUMNS: Final[Mapping[str, str]] = {
    "retellings": (
        "id serial, session_id number sessions.id, query text, injected text, tokens number, "
        "placements json, at moment"
    ),
    "transcript_messages": (
        "id serial, session_id number sessions.id, key text, role text, text text, "
        "created_at moment, deleted_at moment?"
    ),
    "imports": "ref text key, memory_id number memories.id, said text, at moment",
    "trash_imports": "ref text key, memory_id number, said text, at moment",
    "aliases": (
        "id serial, entity_id number, project text, name text, folded text, source text, "
        "created_at moment"
    ),
    "graph_evidence": (
        "id serial, entity_id number?, relationship_id number?, source text, source_id number, "
        "confidence real, created_at moment, ended_at moment?"
    ),
    "graph_steps": (
        "id serial, act_id number, table_name text, row_id number, before json?, after json?"
    ),
    "graph_position": "id number key, seq number, memory_id number?, services text",
    "organizer_sources": (
        "source text key, ref number key, version number, hash text, run_id number, at moment"
    ),
    "notebook_pages": (
        "home text key, path text key, text text, previous text, digest text, earlier json, "
        "pending flag, written_at moment?"
    ),
    "notebook_lines": "home text key, memory_id number key, path text",
    "notebook_positions": "home text key, seq number, memory_id number?",
    "notebook_reviews": (
        "id serial, home text, pages json, resolution text?, created_at moment, resolved_at moment?"
    ),
    "verifications": (
        "memory_id number key, state text, version number, evidence json, untested json, "
        "checked_at moment?, marked_at moment?, mark text"
    ),
    "verification_position": "id number key, event_id number",
    "check_series": (
        "id serial, service text, name text, kind text, state text, changed_at moment?, "
        "checked_at moment?, streak number, latency_ms real?, status number?, attempts number, "
        "late_ms number, detail text, silent flag, folded_to moment?, day_folded_to moment?, "
        "latencies json"
    ),
    "check_points": (
        "series_id number key, at moment key, state text, latency_ms real?, status number?, "
        "attempts number, late_ms number, detail text, silent flag"
    ),
    "check_aggregates": (
        "span text key, series_id number key, at moment key, count number, failures number, "
        "warnings number, p50_ms real?, p95_ms real?, max_ms real?, silent number, "
        "silent_failures number"
    ),
    "declarations": "service text key, configured text",
    "incident_sessions": "session_id number key, incident_id number",
    "incident_entries": (
        "id serial, incident_id number, at moment, kind text, service text?, text text"
    ),
    "push_checks": (
        "service text key, check text key, schedule text, counted_from moment, "
        "started_at moment?, overdue flag, key_hash text, created_at moment, evaluated_to number"
    ),
    "memory_health": "id serial, at moment, trigger text, compared_at moment?, figures json",
    # groups of equal events: triggers maintain them, see `repository.upkeep.maintained`
    "event_groups": (
        "id serial, level text, service text?, text text, count number, first_id number, "
        "last_id number, sessions number, first_at moment, last_at moment, session_id number?"
    ),
    # memories that a view of the list shows; triggers maintain them
    "memory_views": "name text key, memory_id number key",
    # the periods of each memory with its values; triggers maintain them. `held_to` "~" is now,
    # `entry_id` is the history entry that ended the period, 0 for the current one. `other_text` is
    # the title and text of the memory if they differed from the current text
    "memory_periods": (
        "held_to text key, held_from text key, memory_id number key, entry_id number key, "
        "present number, service text?, category text?, project text?, active number?, "
        "confidence real?, updated_at text?, session_id number?, other_text text?"
    ),
    "codes": "id serial, secret_hash text, created_at moment, expires_at moment, used_at moment?",
    "findings": (
        "id serial, session_id number sessions.id, service text, check text, stage text, "
        "cause text?, detail text, at moment"
    ),
    "checks": (
        "id serial, session_id number sessions.id, service text, name text, kind text, ok flag, "
        "status number?, latency_ms real?, attempts number, flapped flag, detail text, "
        "at moment, warned flag"
    ),
    "days": "service text key, day text key, looks number, failed number, warned number",
    "terms": "id number key, title text, text text, keys text, around text, scope text, size real",
    "unindexed": "id number key",
    "term_totals": "part number key, documents number, size real",
    "embeddings": (
        "id serial, memory_id number memories.id, model text, of text, code bytes, vector bytes, "
        "at moment"
    ),
    "history": (
        "id serial, memory_id number, version number, at moment, actor text, session_id number?, "
        "cause text, reason text, before json?, after json?, review_id number?, act_id number?"
    ),
    "acts": (
        "id serial, action text, value real?, undoes number?, created_at moment, actor text, "
        "memory_id number?, review_id number?, service text?, changed number?, subject text?"
    ),
    "links": (
        "id serial, memory_id number, target_id number, what text, session_id number?, "
        "created_at moment, act_id number?"
    ),
    "analyses": "memory_id number key, lexicon text, observation text, terms text, analysis text",
    "leases": (
        "id serial, name text, epoch number, pid number, engine text, interval_seconds real, "
        "dry_run flag, session_id number?, heartbeat_at moment, next_round_at moment?, "
        "version number"
    ),
    "exposures": (
        "id serial, session_id number sessions.id, memory_id number, version number, "
        "position number?, why text, line text, retelling number?"
    ),
    "prompts": (
        "session_id number key sessions.id, system text, injected text, message text, "
        "tokens number, budget number"
    ),
}
"""The columns of the other tables: the name and the type, with `?` if it may be empty.

`serial` is an ID that the database counts, `key` a part of the primary key. A dotted name is the
column that a column references.
"""

_KINDS: Final[Mapping[str, Any]] = {
    "bytes": sa.LargeBinary,
    "flag": Flag,
    "json": Json,
    "moment": UTCDateTime,
    "number": NUMBER,
    "real": sa.Double,
    "serial": NUMBER,
    "text": sa.Text,
}

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
    """Return a table, made at its first use."""
    made = _trash if name == "trash" else _entity_table if name in _ENTITIES else _plain_table
    if name not in (*_ENTITIES, *_COLUMNS, "trash"):
        raise AttributeError(f"There is no table {name}.")
    with _making:
        if name not in metadata.tables:
            globals()[name] = made(name)
    return metadata.tables[name]


def complete_metadata() -> sa.MetaData:
    """Return the metadata of all tables."""
    for name in (*_ENTITIES, *_COLUMNS, "trash"):
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


def _plain_table(name: str) -> sa.Table:
    made = sa.Table(name, metadata, *map(_plain_column, _COLUMNS[name].split(", ")))
    if name == "notebook_lines":
        sa.Index("idx_notebook_lines_path", made.c.home, made.c.path)
    return made


def _plain_column(declared: str) -> sa.Column[Any]:
    name, kind, *more = declared.split()
    return sa.Column(
        name,
        _KINDS[kind.removesuffix("?")],
        *(sa.ForeignKey(each) for each in more if each != "key"),
        primary_key=kind == "serial" or "key" in more,
        autoincrement="auto" if kind == "serial" else False,
        nullable=kind.endswith("?"),
    )


def _trash(name: str) -> sa.Table:
    return sa.Table(
        name,
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
