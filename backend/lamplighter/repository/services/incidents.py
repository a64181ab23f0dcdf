"""Queries on incidents: their members, their sessions and their timeline."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    EntryKind,
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentSource,
)
from lamplighter.formats import serialize as as_json
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, InIdList, Json, UTCDateTime
from lamplighter.repository.store.statements import (
    Fetch,
    Page,
    PublishedRows,
    Rows,
    Statement,
    count_by,
    fetch_list,
    has_row,
    publisher,
    update_rows,
    values_of,
)
from lamplighter.repository.store.tables import (
    cooldowns,
    incident_entries,
    incident_members,
    incident_sessions,
    incidents,
    reader,
    requests,
    sessions,
)

ENTITY: Final = "incident"
_LIVE: Final = Statement(
    sa.select(incidents).where(incidents.c.resolved_at.is_(None)).order_by(incidents.c.id)
)
_MOST_URGENT: Final = Statement(
    sa.select(incidents)
    .where(incidents.c.resolved_at.is_(None))
    .order_by(sa.case({each: -each.rank for each in Level}, value=incidents.c.severity))
    .order_by(incidents.c.started_at, incidents.c.id)
    .limit(sa.bindparam("most"))
)
_OPEN_BY_SEVERITY: Final = Statement(
    sa.select(incidents.c.severity, sa.func.count().label("count"))
    .where(incidents.c.resolved_at.is_(None))
    .group_by(incidents.c.severity)
)


_LAST_DETECTED: Final = sa.func.max(
    incidents.c.detected_at, type_=incidents.c.detected_at.type
).label("at")


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentSelection:
    """Filter for incidents; None matches all. `live` matches open or resolved incidents."""

    live: bool | None = None
    service: str | None = None
    detected_after: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentEntry:
    """One entry of a timeline."""

    at: datetime
    kind: EntryKind
    service: str | None
    text: str


async def insert(db: Database, *, now: datetime, **values: Any) -> Incident:
    """Store a new incident without members."""
    usual = {"outcome": "", "action": "", "note": "", "services": [], "detected_at": now}
    return await _rows.insert(db, {**usual, **values}, now=now)


async def update(db: Database, incident_id: int, *, now: datetime, **values: Any) -> Incident:
    """Change an incident."""
    return await _rows.change(db, incident_id, values, now=now)


async def get(db: Database, incident_id: int) -> Incident | None:
    """Return one incident."""
    return await _rows.get(db, incident_id)


async def live(db: Database) -> list[Incident]:
    """Return the open incidents, oldest first."""
    return await _rows.fetch(db, _LIVE())


def urgent_fetch(*, limit: int) -> Fetch[tuple[list[Incident], dict[Level, int]]]:
    """Build the fetch of the most urgent open incidents, and of the number by severity.

    The most severe are first, then the oldest.
    """

    def read(found: Sequence[Sequence[Any]]) -> tuple[list[Incident], dict[Level, int]]:
        counts = {Level(row["severity"]): row["count"] for row in found[1]}
        return [_rows.read(row) for row in found[0]], counts

    return Fetch([_MOST_URGENT(most=limit), _OPEN_BY_SEVERITY()], read)


_UNLEARNED: Final = Statement(
    sa.select(incidents)
    .where(incidents.c.learned_at.is_(None))
    .where(incidents.c.resolved_at.is_not(None))
    .order_by(incidents.c.id)
)


_REPAIRED: Final = Statement(
    sa.select(incidents)
    .where(incidents.c.outcome == IncidentOutcome.REPAIRED)
    .where(incidents.c.resolved_at >= sa.bindparam("since", type_=UTCDateTime()))
    .order_by(incidents.c.resolved_at.desc(), incidents.c.id.desc())
    .limit(sa.bindparam("most"))
)


def repaired(*, since: datetime, limit: int) -> Fetch[list[Incident]]:
    """Build the fetch of the incidents that an action repaired since `since`, newest first."""
    return fetch_list(_REPAIRED(since=since, most=limit), _rows.read)


async def unlearned(db: Database) -> list[Incident]:
    """Return the resolved incidents that have not been learned from yet, oldest first."""
    return await _rows.fetch(db, _UNLEARNED())


async def claim_learning(db: Database, incident_id: int, *, now: datetime) -> bool:
    """Mark an incident as learned from; False if it already was, or is open again."""
    ended = (incidents.c.learned_at.is_(None), incidents.c.resolved_at.is_not(None))
    own = incidents.c.id == incident_id
    return bool(await update_rows(db, incidents, own, *ended, learned_at=now))


async def count_roots(
    db: Database, services: Iterable[str], cause: str, *, after: Mapping[str, int], limit: int
) -> dict[str, tuple[int, int]]:
    """Return the number of each service's incidents with `cause` as their root, and in total.

    Only the newest resolved incidents count, and for a service in `after` only later ones.
    """
    names = {each.lower() for each in services}
    newest = (
        sa.select(incidents.c.id, incidents.c.service)
        .where(incidents.c.resolved_at.is_not(None))
        .where(incidents.c.merged_into.is_(None))
        .order_by(incidents.c.id.desc())
        .limit(limit)
        .subquery()
    )
    name = sa.func.lower(incident_members.c.service)
    own = sa.func.count().filter(newest.c.service == cause)
    first = {each.lower(): number for each, number in after.items() if number}
    query = (
        sa.select(name.label("name"), own.label("own"), sa.func.count().label("all"))
        .join(newest, newest.c.id == incident_members.c.incident_id)
        .where(name.in_(sorted(names)))
        .where(newest.c.id > (sa.case(first, value=name, else_=0) if first else 0))
        .group_by(name)
    )
    return {row["name"]: (row["own"], row["all"]) for row in await db.fetch_all(query)}


async def is_check_request(db: Database, request_id: int) -> bool:
    """Whether a request investigates an open incident that a check opened."""
    return await has_row(
        db,
        incidents.c.request_id == request_id,
        incidents.c.source == IncidentSource.CHECK,
        incidents.c.resolved_at.is_(None),
    )


async def page(
    db: Database,
    chosen: IncidentSelection,
    *,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[Incident]:
    """Return one page of incidents, newest first."""
    conditions: list[sa.ColumnElement[bool]] = []
    if chosen.live is not None:
        none = incidents.c.resolved_at.is_(None)
        conditions.append(none if chosen.live else ~none)
    if chosen.service is not None:
        of_service = sa.func.lower(incident_members.c.service) == chosen.service.lower()
        numbers = sa.select(incident_members.c.incident_id).where(of_service)
        conditions.append(incidents.c.id.in_(numbers))
    if chosen.detected_after is not None:
        conditions.append(incidents.c.detected_at >= chosen.detected_after)
    return await _rows.page(db, *conditions, limit=limit, position=position)


async def count_since(db: Database, service: str, start: datetime) -> int:
    """Return the number of incidents since `start` with a service as their root."""
    return await db.count_rows(
        incidents,
        sa.func.lower(incidents.c.service) == service.lower(),
        incidents.c.detected_at >= start,
        incidents.c.merged_into.is_(None),
    )


async def last_detected(db: Database, services: Iterable[str]) -> dict[str, datetime]:
    """Return when the last incident of each of some services was detected."""
    query = (
        sa.select(incident_members.c.service, _LAST_DETECTED)
        .join(incidents, incidents.c.id == incident_members.c.incident_id)
        .where(incident_members.c.service.in_(sorted(services)))
        .group_by(incident_members.c.service)
    )
    return {row["service"]: row["at"] for row in await db.fetch_all(query)}


async def last_as_root(
    db: Database, services: Iterable[str], *, start: datetime
) -> dict[str, datetime]:
    """Return when the last incident of each root that ended since `start` was detected."""
    query = (
        sa.select(incidents.c.service, _LAST_DETECTED)
        .where(incidents.c.service.in_(sorted(services)))
        .where(incidents.c.resolved_at >= start)
        .group_by(incidents.c.service)
    )
    return {row["service"]: row["at"] for row in await db.fetch_all(query)}


async def count_recovered(
    db: Database, services: Iterable[str], *, start: datetime
) -> dict[str, int]:
    """Return the number of incidents since `start` that recovered by themselves, by root."""
    return await count_by(
        db,
        incidents.c.service,
        incidents.c.service.in_(sorted(services)),
        incidents.c.resolved_at >= start,
        incidents.c.detected_at >= start,
        incidents.c.outcome == IncidentOutcome.RECOVERED,
    )


_MEMBERS: Final = Statement(
    sa.select(incident_members)
    .where(InIdList(incident_members.c.incident_id, sa.bindparam("ids", type_=sa.Text)))
    .order_by(incident_members.c.joined_at, incident_members.c.service)
)


async def members(db: Database, ids: Sequence[int]) -> dict[int, list[IncidentMember]]:
    """Return the members of some incidents, in the order in which they joined."""
    found: dict[int, list[IncidentMember]] = {number: [] for number in ids}
    for row in await db.fetch_all(_MEMBERS(ids=Json.written(list(ids)))):
        found[row["incident_id"]].append(_member(row))
    return found


async def members_of(db: Database, incident_id: int) -> list[IncidentMember]:
    """Return the members of an incident."""
    return (await members(db, [incident_id]))[incident_id]


async def add_members(
    db: Database, incident: Incident, some: Mapping[str, str], *, root: str, now: datetime
) -> Incident:
    """Add services with their evidence to an incident; `root` becomes its root cause."""
    for name, detail in some.items():
        values = {"service": name, "joined_at": now, "detail": detail, "failures": 1}
        statement = sa.insert(incident_members).values(incident_id=incident.id, **values)
        await db.execute(statement.values(investigated=False))
    names = [root, *(name for name in (*incident.services, *some) if name != root)]
    return await update(db, incident.id, service=root, services=names, now=now)


async def update_members(
    db: Database, incident_id: int, services: Iterable[str], **values: Any
) -> None:
    """Change some members of an incident; `again=True` counts another failure."""
    if values.pop("again", False):
        values |= {"failures": incident_members.c.failures + 1, "investigated": False}
    own = incident_members.c.incident_id == incident_id
    named = incident_members.c.service.in_(sorted(services))
    await update_rows(db, incident_members, own, named, **values)


async def move_sessions(db: Database, ids: Sequence[int], into: int) -> None:
    """Move some sessions from their incident to another incident."""
    await update_rows(
        db, incident_sessions, incident_sessions.c.session_id.in_(ids), incident_id=into
    )


async def moved(db: Database, incident_id: int) -> dict[str, Any] | None:
    """Return the data that a merged incident added to the other incident; None if not merged."""
    query = sa.select(incidents.c.moved).where(incidents.c.id == incident_id)
    found: dict[str, Any] | None = await db.fetch_val(query)
    return found


async def remove_members(
    db: Database, incident: Incident, services: Sequence[str], *, now: datetime, **values: Any
) -> Incident:
    """Remove services from an incident; `values` are further columns."""
    own = incident_members.c.incident_id == incident.id
    named = incident_members.c.service.in_(services)
    await db.execute(sa.delete(incident_members).where(own, named))
    left = [name for name in incident.services if name not in services]
    return await update(db, incident.id, service=left[0], services=left, now=now, **values)


async def add_entry(
    db: Database,
    incident_id: int,
    kind: EntryKind,
    text: str = "",
    *,
    service: str | None = None,
    now: datetime,
) -> None:
    """Add an entry to the timeline of an incident."""
    values = {"at": now, "kind": kind, "service": service, "text": text}
    await db.execute(sa.insert(incident_entries).values(incident_id=incident_id, **values))


async def last_flapping(db: Database, service: str, *, start: datetime) -> datetime | None:
    """Return when a service last failed and recovered by itself repeatedly."""
    last = sa.func.max(incident_entries.c.at, type_=incident_entries.c.at.type)
    query = (
        sa.select(last)
        .join(incidents, incidents.c.id == incident_entries.c.incident_id)
        .where(incidents.c.service == service)
        .where(incidents.c.resolved_at.is_(None) | (incidents.c.resolved_at >= start))
        .where(incident_entries.c.kind == EntryKind.FLAPPING)
        .where(incident_entries.c.at >= start)
    )
    found: datetime | None = await db.fetch_val(query)
    return found


async def entries(db: Database, incident_id: int) -> list[IncidentEntry]:
    """Return the timeline entries that are stored with an incident, oldest first."""
    return await _entries.oldest(db, incident_entries.c.incident_id == incident_id)


async def flapping(db: Database, some: Sequence[Incident]) -> set[int]:
    """Return those of some incidents that have a flapping root."""
    if not some:
        return set()
    marked = incident_entries.c.kind == EntryKind.FLAPPING
    number = incident_entries.c.incident_id
    return set(await values_of(db, number, number.in_([each.id for each in some]), marked))


async def link(db: Database, incident_id: int, session_ids: Iterable[int]) -> None:
    """Make sessions part of an incident; a session that belongs to an incident stays there."""
    held = set(await incident_of(db, session_ids := set(session_ids)))
    for number in sorted(session_ids - held):
        statement = sa.insert(incident_sessions).values(incident_id=incident_id, session_id=number)
        await db.execute(statement)


async def incident_of(db: Database, session_ids: Iterable[int]) -> dict[int, int]:
    """Return the incident of each of some sessions, without sessions that have none."""
    query = sa.select(incident_sessions).where(
        incident_sessions.c.session_id.in_(sorted(session_ids))
    )
    return {row["session_id"]: row["incident_id"] for row in await db.fetch_all(query)}


async def of_sessions(db: Database, ids: Sequence[int]) -> list[Incident]:
    """Return the incidents that some sessions work on, by a link or by a request, oldest first."""
    linked = sa.select(incident_sessions.c.incident_id).where(
        incident_sessions.c.session_id.in_(ids)
    )
    requested = sa.select(requests.c.id).where(requests.c.session_id.in_(ids))
    query = (
        sa.select(incidents)
        .where(incidents.c.id.in_(linked) | incidents.c.request_id.in_(requested))
        .order_by(incidents.c.id)
    )
    return await _rows.fetch(db, query)


_INCIDENT: Final = sa.bindparam("incident", type_=NUMBER)
_OF_INCIDENT: Final = sa.select(incident_sessions.c.session_id).where(
    incident_sessions.c.incident_id == _INCIDENT
)
_SESSION_IDS: Final = Statement(_OF_INCIDENT.order_by(incident_sessions.c.session_id), tuples=True)
_REQUESTED: Final = sa.select(requests.c.session_id).where(
    requests.c.id == sa.bindparam("request", type_=NUMBER)
)
_ACTED: Final = (
    sa.select(cooldowns.c.session_id)
    .join(incident_members, incident_members.c.service == cooldowns.c.service)
    .join(incidents, incidents.c.id == incident_members.c.incident_id)
    .where(incidents.c.id == _INCIDENT)
    .where(cooldowns.c.session_id.is_not(None))
    .where(cooldowns.c.created_at >= incidents.c.started_at)
)
_UNLINKED: Final = Statement(
    sa.select(sessions.c.id)
    .where(
        sessions.c.parent_id.in_(_OF_INCIDENT)
        | sessions.c.id.in_(_REQUESTED)
        | sessions.c.id.in_(_ACTED)
    )
    .where(sessions.c.id.not_in(sa.select(incident_sessions.c.session_id)))
    .order_by(sessions.c.id),
    tuples=True,
)


async def session_ids(db: Database, incident_id: int) -> list[int]:
    """Return the sessions of an incident, oldest first."""
    return [number for (number,) in await db.fetch_all(_SESSION_IDS(incident=incident_id))]


async def unlinked(db: Database, incident_id: int, request_id: int | None) -> list[int]:
    """Return sessions that belong to an incident but are not part of it yet.

    These are the session of its request, the next-tier sessions of its sessions, and sessions that
    acted on its services since it started.
    """
    query = _UNLINKED(incident=incident_id, request=request_id)
    return [number for (number,) in await db.fetch_all(query)]


_member: Final = reader(IncidentMember)
_entries: Final = Rows(incident_entries, reader(IncidentEntry))
_rows: Final = PublishedRows(incidents, reader(Incident), publisher(ENTITY, as_json.incident))
