"""What lists count of many rows, maintained with each row by triggers.

Groups of equal events (level, service, text) have a row of their own. Memories that a view of the
list shows are named in `memory_views`: those that no prompt included, those that only their first
source observed, and those that an operator edited.
"""

from typing import Final

_SAME_GROUP: Final = (
    "{key} = {row_key} AND event_groups.level = {row}.level"
    " AND coalesce(event_groups.service, '') = coalesce({row}.service, '')"
)
_SESSION_IS_COUNTED: Final = (
    "SELECT 1 FROM events AS other WHERE other.session_id = NEW.session_id AND other.id <> NEW.id"
    " AND other.text = NEW.text AND other.level || '' = NEW.level"  # by the session, not by this
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


def _triggers(group: dict[str, str]) -> tuple[tuple[str, str, str, str], ...]:
    """Return the triggers: name, when, on which condition, what."""
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
TRIGGERS: Final = tuple(sorted(name for name, *_ in _SQLITE_TRIGGERS))
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
SQLITE: Final = (
    "CREATE UNIQUE INDEX idx_event_groups_key ON event_groups (text, level, coalesce(service, ''))",
    *(
        f"CREATE TRIGGER {name} AFTER {moment}{f' WHEN {when}' if when else ''} BEGIN {what} END"
        for name, moment, when, what in _SQLITE_TRIGGERS
    ),
)
_CREATE: Final = "".join(
    f" CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
    f" $body$ BEGIN {what} RETURN NULL; END $body$;"
    f" CREATE OR REPLACE TRIGGER {name} AFTER {moment} FOR EACH ROW"
    f"{f' WHEN ({when})' if when else ''} EXECUTE FUNCTION {name}();"
    for name, moment, when, what in _triggers(_key("md5({})"))
)
POSTGRES: Final = (
    "CREATE UNIQUE INDEX idx_event_groups_key"
    " ON event_groups (md5(text), level, coalesce(service, ''))",
    f"DO $do$ BEGIN {_CREATE} END $do$",
)
