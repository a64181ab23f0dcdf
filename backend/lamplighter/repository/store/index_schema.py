"""Triggers that keep the search index in sync, in the SQL of each database.

They mark each written row as `unindexed`, whatever the statement; a removed row leaves the index at
once.
"""

from typing import Final

from lamplighter.repository.store.tables import ASIDE, FIELDS, INDEX, STEP, VOCABULARY

_EVENTS: Final = 2 * STEP

_FTS: Final = (*FIELDS, "scope")
_NAMES: Final = ", ".join(_FTS)
_MEMORY: Final = (
    *("observation", "title", "tags", "service", "category", "kind", "project", "scope"),
    *("topic_key", "active", "session_id"),
)
_SESSION: Final = ("summary", "project", "agent", "services")
_EVENT: Final = ("text", "service")
_NOTE: Final = "INSERT INTO unindexed (id) VALUES ({}) ON CONFLICT DO NOTHING;"

NEIGHBORS: Final = 2
_NEIGHBORS: Final = " UNION ALL ".join(
    "SELECT id FROM (SELECT id FROM memories WHERE coalesce(session_id, 0) = OLD.session_id"
    f" AND id {way} OLD.id ORDER BY id {order} LIMIT {NEIGHBORS}) AS {name}"
    for way, order, name in (("<", "DESC", "earlier"), (">", "ASC", "later"))
)
_FORGET_MEMORY: Final = (
    f"DELETE FROM terms WHERE id IN (OLD.id, OLD.id + {ASIDE});"
    " DELETE FROM unindexed WHERE id = OLD.id;"
)
# their terms include words of the deleted memory
_FORGET_NEIGHBORS: Final = (
    f"UPDATE terms SET around = '' WHERE around <> '' AND id IN ({_NEIGHBORS});"
    f" INSERT INTO unindexed (id) SELECT id FROM ({_NEIGHBORS}) AS beside WHERE true"
    " ON CONFLICT DO NOTHING;"
)
_TOTAL: Final = (
    f"UPDATE term_totals SET documents = documents {{0}} 1, size = size {{0}} {{1}}.size"
    f" WHERE part = {{1}}.id / {STEP};"
)


def _forget(base: int) -> str:
    return (
        f"DELETE FROM terms WHERE id = OLD.id + {base};"
        f" DELETE FROM unindexed WHERE id = OLD.id + {base};"
    )


def _differs(columns: tuple[str, ...], unlike: str) -> str:
    return " OR ".join(f"OLD.{each} {unlike} NEW.{each}" for each in columns)


def _note_triggers(unlike: str) -> tuple[tuple[str, str, str, str], ...]:
    """Return the triggers that mark written rows: name, event, condition, statement."""
    of = ", ".join
    summarized = "NEW.summary <> ''"
    resummarized = f"(OLD.summary <> '' OR {summarized}) AND ({_differs(_SESSION, unlike)})"
    session, event = (_NOTE.format(f"NEW.id + {base}") for base in (STEP, _EVENTS))
    return (
        ("memories_added", "INSERT ON memories", "", _NOTE.format("NEW.id")),
        (
            "memories_changed",
            f"UPDATE OF {of(_MEMORY)} ON memories",
            _differs(_MEMORY, unlike),
            _NOTE.format("NEW.id"),
        ),
        ("memories_removed", "DELETE ON memories", "", _FORGET_MEMORY),
        ("memories_left", "DELETE ON memories", "OLD.session_id IS NOT NULL", _FORGET_NEIGHBORS),
        ("sessions_added", "INSERT ON sessions", summarized, session),
        ("sessions_changed", f"UPDATE OF {of(_SESSION)} ON sessions", resummarized, session),
        ("sessions_removed", "DELETE ON sessions", "", _forget(STEP)),
        ("events_added", "INSERT ON events", "", event),
        ("events_changed", f"UPDATE OF {of(_EVENT)} ON events", _differs(_EVENT, unlike), event),
        ("events_removed", "DELETE ON events", "", _forget(_EVENTS)),
    )


def _values(row: str) -> str:
    return ", ".join(f"{row}.{each}" for each in ("id", *_FTS))


_PUT: Final = f"INSERT INTO {INDEX} (rowid, {_NAMES}) VALUES ({_values('NEW')});"
_TAKE: Final = (
    f"INSERT INTO {INDEX} ({INDEX}, rowid, {_NAMES}) VALUES ('delete', {_values('OLD')});"
)
_MORE, _LESS = _TOTAL.format("+", "NEW"), _TOTAL.format("-", "OLD")

_SQLITE: Final = (
    *_note_triggers("IS NOT"),
    ("terms_added", "INSERT ON terms", "", f"{_PUT} {_MORE}"),
    ("terms_changed", "UPDATE ON terms", "", f"{_TAKE} {_LESS} {_PUT} {_MORE}"),
    ("terms_removed", "DELETE ON terms", "", f"{_TAKE} {_LESS}"),
)
# one statement for all rows of a total: counting row by row in one total becomes slower in
# PostgreSQL the more rows there are
_COUNTED: Final = (
    "UPDATE term_totals SET documents = term_totals.documents + more.documents,"
    " size = term_totals.size + more.size FROM"
    f" (SELECT id / {STEP} AS part, sum(documents) AS documents, sum(size) AS size FROM ({{}})"
    " AS rows GROUP BY 1) AS more WHERE term_totals.part = more.part;"
)
_FRESH: Final = "SELECT id, 1 AS documents, size FROM fresh"
_GONE: Final = "SELECT id, -1 AS documents, -size AS size FROM gone"
_ROWS: Final = "FOR EACH ROW"
_NEW_ROWS: Final = "REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT"
_OLD_ROWS: Final = "REFERENCING OLD TABLE AS gone FOR EACH STATEMENT"
_BOTH: Final = "REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT"


def _forget_gone(*bases: int) -> str:
    own = " UNION ALL ".join(f"SELECT id + {base} FROM gone" for base in bases)
    return (
        f"DELETE FROM terms WHERE id IN ({own});"
        f" DELETE FROM unindexed WHERE id IN (SELECT id + {bases[0]} FROM gone);"
    )


_PER_STATEMENT: Final = {
    "memories_removed": _forget_gone(0, ASIDE),
    "sessions_removed": _forget_gone(STEP),
    "events_removed": _forget_gone(_EVENTS),
}
_POSTGRES: Final = (
    *(
        (name, moment, f"{_ROWS} WHEN ({when})" if when else _ROWS, what)
        for name, moment, when, what in _note_triggers("IS DISTINCT FROM")
        if name not in _PER_STATEMENT
    ),
    *(
        (name, f"DELETE ON {name.partition('_')[0]}", _OLD_ROWS, what)
        for name, what in _PER_STATEMENT.items()
    ),
    ("terms_added", "INSERT ON terms", _NEW_ROWS, _COUNTED.format(_FRESH)),
    (
        "terms_changed",
        "UPDATE ON terms",
        _BOTH,
        _COUNTED.format(f"{_FRESH} UNION ALL {_GONE}"),
    ),
    ("terms_removed", "DELETE ON terms", _OLD_ROWS, _COUNTED.format(_GONE)),
)

METADATA: Final = "memories_metadata"
_METADATA_CHANGED: Final = "AFTER UPDATE OF metadata ON memories"
METADATA_SQLITE: Final = (
    f"CREATE TRIGGER {METADATA} {_METADATA_CHANGED} WHEN OLD.metadata IS NOT NEW.metadata"
    f" BEGIN {_NOTE.format('NEW.id')} END"
)
METADATA_POSTGRES: Final = (
    f"CREATE OR REPLACE TRIGGER {METADATA} {_METADATA_CHANGED} FOR EACH ROW"
    " WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION memories_changed()"
)
"""Added with the metadata column, in a later revision than the other triggers."""

TRIGGERS: Final = tuple(sorted((METADATA, *(name for name, *_ in _SQLITE))))
"""The names of all triggers: a rebuilt table loses its triggers, which a test detects."""

ASCII: Final = "ascii tokenchars ''_''"
"""Terms are prepared here, with spaces between them: nothing is left to split or to fold."""

SQLITE: Final = (
    f"CREATE VIRTUAL TABLE {INDEX} USING fts5({_NAMES}, content='terms', content_rowid='id',"
    f" tokenize='{ASCII}')",
    f"CREATE VIRTUAL TABLE {VOCABULARY} USING fts5vocab({INDEX}, 'row')",
    *(
        f"CREATE TRIGGER {name} AFTER {moment}{f' WHEN {when}' if when else ''} BEGIN {what} END"
        for name, moment, when, what in _SQLITE
    ),
)
DROP_SQLITE: Final = (
    *(f"DROP TRIGGER IF EXISTS {name}" for name in TRIGGERS),
    f"DROP TABLE IF EXISTS {VOCABULARY}",
    f"DROP TABLE IF EXISTS {INDEX}",
)
_CREATE: Final = "".join(
    f" CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
    f" $body$ BEGIN {what} RETURN NULL; END $body$;"
    f" CREATE OR REPLACE TRIGGER {name} AFTER {moment} {rows} EXECUTE FUNCTION {name}();"
    for name, moment, rows, what in _POSTGRES
)
POSTGRES_TRIGGERS: Final = (f"DO $do$ BEGIN {_CREATE} END $do$",)
POSTGRES: Final = (
    "ALTER TABLE terms ADD COLUMN vector tsvector NOT NULL DEFAULT ''",
    "CREATE INDEX idx_terms_vector ON terms USING gin (vector) WITH (fastupdate = off)",
    *POSTGRES_TRIGGERS,
)
NOTE_ALL: Final = tuple(
    f"INSERT INTO unindexed (id) {rows} ON CONFLICT DO NOTHING"
    for rows in (
        "SELECT id FROM memories WHERE true",
        f"SELECT id + {STEP} FROM sessions WHERE summary <> ''",
        f"SELECT id + {_EVENTS} FROM events WHERE true",
    )
)
RECOUNT: Final = (
    "UPDATE term_totals SET"
    f" documents = (SELECT count(*) FROM terms WHERE terms.id / {STEP} = part),"
    f" size = (SELECT coalesce(sum(terms.size), 0) FROM terms WHERE terms.id / {STEP} = part)"
)


def is_of_index(damage: str) -> bool:
    """Whether a problem that a database check reports is in the index."""
    return "fts5" in damage.lower() or INDEX in damage
