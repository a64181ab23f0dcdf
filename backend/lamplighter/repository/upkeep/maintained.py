"""Counts over many rows for lists, maintained with each row by triggers.

Each group of equal events (level, service, text) has a row. `memory_views` names the memories that
a view of the list shows: memories that no prompt included, that only their first source observed,
or that an operator edited. `memory_periods` holds the states of each memory over time: the periods
of the values that history entries changed.
"""

from typing import Final

_SAME_GROUP: Final = (
    "{key} = {row_key} AND event_groups.level = {row}.level"
    " AND coalesce(event_groups.service, '') = coalesce({row}.service, '')"
)
_SESSION_IS_COUNTED: Final = (
    "SELECT 1 FROM events AS other WHERE other.session_id = NEW.session_id AND other.id <> NEW.id"
    " AND other.text = NEW.text AND other.level || '' = NEW.level"  # prevents use of its index
    " AND coalesce(other.service, '') = coalesce(NEW.service, '')"
)
_COUNT: Final = (
    "INSERT INTO event_groups (level, service, text, count, first_id, last_id, first_at, last_at,"
    " sessions, session_id) VALUES (NEW.level, NEW.service, NEW.text, 0, NEW.id, NEW.id,"
    " NEW.created_at, NEW.created_at, 0, NULL) ON CONFLICT DO NOTHING;"
    " UPDATE event_groups SET count = count + 1,"
    " last_id = CASE WHEN NEW.id > last_id THEN NEW.id ELSE last_id END,"
    " last_at = CASE WHEN NEW.created_at > last_at THEN NEW.created_at ELSE last_at END,"
    f" sessions = sessions + CASE WHEN NEW.session_id IS NULL OR EXISTS ({_SESSION_IS_COUNTED})"
    " THEN 0 ELSE 1 END,"
    " session_id = CASE WHEN NEW.session_id > coalesce(session_id, 0) THEN NEW.session_id"
    " ELSE session_id END WHERE {new};"
)
_UNCOUNT: Final = (
    "DELETE FROM event_groups WHERE {old} AND count = 1;"
    " UPDATE event_groups SET count = count - 1,"
    " sessions = CASE WHEN sessions > count - 1 THEN count - 1 ELSE sessions END WHERE {old};"
)

_INCLUDED: Final = (
    "SELECT 1 FROM exposures WHERE exposures.memory_id = {row}.id AND position IS NOT NULL"
)
_CONFIRMED: Final = (
    "SELECT 1 FROM history WHERE history.memory_id = {row}.id AND cause = 'reinforced'"
    " AND coalesce(history.session_id, 0) <> coalesce({row}.session_id, 0)"
)
_EDITED: Final = (
    "SELECT 1 FROM history WHERE history.memory_id = {row}.id AND cause = 'edited'"
    " AND actor = 'operator'"
)
_VIEWS: Final = (
    ("unused", f"NOT EXISTS ({_INCLUDED})"),
    ("single", f"NOT EXISTS ({_CONFIRMED})"),
    ("edited", f"EXISTS ({_EDITED})"),
)
_LIST: Final = "INSERT INTO memory_views (name, memory_id) SELECT {what} ON CONFLICT DO NOTHING;"
_DROP: Final = "DELETE FROM memory_views WHERE name = '{view}' AND memory_id = {of};"
_JUDGE: Final = "".join(
    _LIST.format(what=f"'{view}', NEW.id WHERE {is_so.format(row='NEW')}") for view, is_so in _VIEWS
)
_RECONSIDER: Final = _DROP.format(view="single", of="NEW.id") + _LIST.format(
    what=f"'single', NEW.id WHERE {_VIEWS[1][1].format(row='NEW')}"
)
_BY_ANOTHER: Final = (
    "DELETE FROM memory_views WHERE name = 'single' AND memory_id IN (SELECT id FROM memories"
    " WHERE id = NEW.memory_id AND coalesce(session_id, 0) <> coalesce(NEW.session_id, 0));"
)
_BY_OPERATOR: Final = _LIST.format(what="'edited', id FROM memories WHERE id = NEW.memory_id")
_GONE: Final = "".join(_DROP.format(view=view, of="OLD.id") for view, _ in _VIEWS)


_Triggers = tuple[tuple[str, str, str, str], ...]


def _triggers(group: dict[str, str]) -> _Triggers:
    """Return the triggers: name, event, condition, statement."""
    included = "NEW.position IS NOT NULL"
    use = _DROP.format(view="unused", of="NEW.memory_id")
    return (
        ("event_counted", "INSERT ON events", "", _COUNT.format(**group)),
        ("event_uncounted", "DELETE ON events", "", _UNCOUNT.format(**group)),
        ("memory_judged", "INSERT ON memories", "", _JUDGE),
        (
            "memory_reconsidered",
            "UPDATE OF session_id ON memories",
            "coalesce(OLD.session_id, 0) <> coalesce(NEW.session_id, 0)",
            _RECONSIDER,
        ),
        ("memory_gone", "DELETE ON memories", "", _GONE),
        ("memory_included", "INSERT ON exposures", included, use),
        ("memory_placed", "UPDATE OF position ON exposures", included, use),
        ("memory_confirmed", "INSERT ON history", "NEW.cause = 'reinforced'", _BY_ANOTHER),
        (
            "memory_edited",
            "INSERT ON history",
            "NEW.cause = 'edited' AND NEW.actor = 'operator'",
            _BY_OPERATOR,
        ),
    )


def _key(key: str) -> dict[str, str]:
    """Return the conditions that find the group of an event, by the key of its text."""
    return {
        name: _SAME_GROUP.format(
            key=key.format("event_groups.text"), row_key=key.format(f"{row}.text"), row=row
        )
        for name, row in (("new", "NEW"), ("old", "OLD"))
    }


_SQLITE_TRIGGERS: Final = _triggers(_key("{}"))
_COLUMNS: Final = (
    "level, service, text, count, first_id, last_id, first_at, last_at, sessions, session_id"
)
FILL: Final = (
    f"INSERT INTO event_groups ({_COLUMNS}) SELECT level, service, text, count(*), min(id),"
    " max(id), min(created_at), max(created_at), count(DISTINCT session_id), max(session_id)"
    " FROM events GROUP BY level, service, text",
    *(
        f"INSERT INTO memory_views (name, memory_id) SELECT '{view}', id FROM memories"
        f" WHERE {is_so.format(row='memories')}"
        for view, is_so in _VIEWS
    ),
)


def _sqlite(triggers: _Triggers) -> tuple[str, ...]:
    """Build the statements that create triggers in SQLite."""
    return tuple(
        f"CREATE TRIGGER {name} AFTER {moment}{f' WHEN {when}' if when else ''} BEGIN {what} END"
        for name, moment, when, what in triggers
    )


def _postgres(triggers: _Triggers) -> str:
    """Build the statement that creates triggers in PostgreSQL."""
    create = "".join(
        f" CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
        f" $body$ BEGIN {what} RETURN NULL; END $body$;"
        f" CREATE OR REPLACE TRIGGER {name} AFTER {moment} FOR EACH ROW"
        f"{f' WHEN ({when})' if when else ''} EXECUTE FUNCTION {name}();"
        for name, moment, when, what in triggers
    )
    return f"DO $do$ BEGIN {create} END $do$"


SQLITE: Final = (
    "CREATE UNIQUE INDEX idx_event_groups_key ON event_groups (text, level, coalesce(service, ''))",
    *_sqlite(_SQLITE_TRIGGERS),
)
POSTGRES: Final = (
    "CREATE UNIQUE INDEX idx_event_groups_key"
    " ON event_groups (md5(text), level, coalesce(service, ''))",
    _postgres(_triggers(_key("md5({})"))),
)

OPEN: Final = "~"
"""The end of the current period: it sorts after every moment."""

_VALUES: Final = ("service", "category", "project", "active", "confidence", "updated_at")
_PERIOD: Final = (
    f"memory_id, entry_id, held_from, held_to, present, {', '.join(_VALUES)}"
    ", session_id, other_text"
)
_TEXT: Final = "{row}title || '\n' || {row}observation"
_OWN: Final = "memory_id = NEW.{id} AND entry_id = 0"
_BEGIN: Final = (
    f"INSERT INTO memory_periods ({_PERIOD}) SELECT NEW.id, 0, NEW.created_at, '{OPEN}', 1,"
    f" {', '.join(f'NEW.{name}' for name in _VALUES)}, NEW.session_id, NULL"
    " WHERE NOT EXISTS (SELECT 1 FROM memory_periods WHERE memory_id = NEW.id);"
    # a memory from the trash has all its periods
    " UPDATE memory_periods SET present = 1 WHERE memory_id = NEW.id;"
)
_FOLLOW: Final = (
    f"UPDATE memory_periods SET {', '.join(f'{name} = NEW.{name}' for name in _VALUES)}"
    f" WHERE held_to = '{OPEN}' AND {_OWN.format(id='id')};"
)
_RELOCATE: Final = "UPDATE memory_periods SET session_id = NEW.session_id WHERE memory_id = NEW.id;"
_RETAIN: Final = (
    f"UPDATE memory_periods SET other_text = {_TEXT.format(row='OLD.')}"
    " WHERE memory_id = NEW.id AND entry_id <> 0 AND other_text IS NULL;"
)
_LEAVE: Final = "UPDATE memory_periods SET present = 0 WHERE memory_id = OLD.id;"
_END: Final = (
    # entries are ordered by ID, because the clock may have been set back
    "UPDATE memory_periods SET held_to = NEW.at"
    " WHERE memory_id = NEW.memory_id AND entry_id <> 0 AND held_to > NEW.at;"
    f" INSERT INTO memory_periods ({_PERIOD})"
    " SELECT NEW.memory_id, NEW.id, held_from, NEW.at, present, {values}, session_id,"
    " (SELECT {other} FROM memories WHERE memories.id = NEW.memory_id) FROM memory_periods"
    f" WHERE {_OWN.format(id='memory_id')} AND held_from < NEW.at AND NEW.cause <> 'restored';"
    " UPDATE memory_periods SET held_from = CASE WHEN NEW.at < (SELECT created_at FROM memories"
    " WHERE memories.id = NEW.memory_id) THEN held_from ELSE NEW.at END"
    f" WHERE {_OWN.format(id='memory_id')};"
)
_FILL: Final = (
    f"INSERT INTO memory_periods ({_PERIOD})"
    " WITH own AS (SELECT {columns}, 1 AS present FROM memories"
    " UNION ALL SELECT {columns}, 0 FROM trash WHERE id NOT IN (SELECT id FROM memories)),"
    ' ended AS (SELECT id, memory_id, cause, "before", min(at) OVER'
    " (PARTITION BY memory_id ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS at"
    " FROM history),"
    " spans AS (SELECT ended.*, lag(at) OVER (PARTITION BY memory_id ORDER BY id) AS began,"
    " lead(id) OVER (PARTITION BY memory_id ORDER BY id) AS next FROM ended),"
    " placed AS (SELECT spans.*, own.*, CASE WHEN began > created_at THEN began ELSE created_at END"
    " AS held_from FROM spans JOIN own ON own.number = memory_id)"
    " SELECT memory_id, id, held_from, at, present, {values}, session_id, {other} FROM placed"
    " WHERE held_from < at AND cause <> 'restored'"
    f" UNION ALL SELECT number, 0, CASE WHEN at > created_at THEN at ELSE created_at END, '{OPEN}',"
    f" present, {', '.join(_VALUES)}, session_id, NULL FROM own LEFT JOIN ended ON ended.id ="
    " (SELECT max(id) FROM history WHERE history.memory_id = number)"
)


def _was(values: dict[str, str], row: str) -> dict[str, str]:
    """Return the previous state of a memory in a history entry: the values, and another text."""
    was = {name: value.format(row=row) for name, value in values.items()}
    text = f"{was['title']} || '\n' || {was['observation']}"
    return {
        "values": ", ".join(was[name] for name in _VALUES),
        "other": f"CASE WHEN {text} <> {_TEXT.format(row='')} THEN {text} END",
    }


def _periods(values: dict[str, str]) -> _Triggers:
    """Return the triggers of periods, from the previous states of memories in history entries."""
    other = " OR ".join(f"OLD.{name} <> NEW.{name}" for name in ("title", "observation"))
    moved = "coalesce(OLD.session_id, 0) <> coalesce(NEW.session_id, 0)"
    return (
        ("period_begun", "INSERT ON memories", "", _BEGIN),
        ("period_changed", f"UPDATE OF {', '.join(_VALUES)} ON memories", "", _FOLLOW),
        ("period_moved", "UPDATE OF session_id ON memories", moved, _RELOCATE),
        ("period_rewritten", "UPDATE OF title, observation ON memories", other, _RETAIN),
        ("period_left", "DELETE ON memories", "", _LEAVE),
        ("period_ended", "INSERT ON history", "", _END.format(**_was(values, "NEW."))),
    )


def _fill_periods(values: dict[str, str]) -> str:
    columns = ", ".join(
        ("id AS number", "created_at", *_VALUES, "session_id", "title", "observation")
    )
    return _FILL.format(columns=columns, **_was(values, ""))


def _previous(name: str, value: str, missing: str) -> str:
    """Return the previous value of a column; a service may be NULL, also in an entry."""
    if name == "service":
        return f"CASE WHEN {missing} THEN {name} ELSE {value} END"
    return f"coalesce({value}, {name})"


_CASTS: Final = {"active": "::boolean::integer", "confidence": "::double precision"}
_REBUILT: Final = (*_VALUES, "title", "observation")
_WAS_IN_SQLITE: Final = {
    name: _previous(
        name,
        f"json_extract({{row}}\"before\", '$.{name}')",
        f"json_type({{row}}\"before\", '$.{name}') IS NULL",
    )
    for name in _REBUILT
}
_WAS_IN_POSTGRES: Final = {
    name: _previous(
        name,
        f"({{row}}\"before\"::jsonb ->> '{name}'){_CASTS.get(name, '')}",
        f"{{row}}\"before\"::jsonb -> '{name}' IS NULL",
    )
    for name in _REBUILT
}
PERIODS_SQLITE: Final = (_fill_periods(_WAS_IN_SQLITE), *_sqlite(_periods(_WAS_IN_SQLITE)))
PERIODS_POSTGRES: Final = (_fill_periods(_WAS_IN_POSTGRES), _postgres(_periods(_WAS_IN_POSTGRES)))
TRIGGERS: Final = tuple(sorted(name for name, *_ in (*_SQLITE_TRIGGERS, *_periods(_WAS_IN_SQLITE))))
