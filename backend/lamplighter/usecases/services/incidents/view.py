"""An incident with its timeline, its sessions, and their memories."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.errors import require
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.services.alert import REPORTED, UNREQUESTED
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import EntryKind, Incident, is_member
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.domain.sessions.session import TIERS, Session
from lamplighter.formats import serialize
from lamplighter.formats.serialize import incident as as_incident
from lamplighter.repository import Database
from lamplighter.repository.memory import exposures, history, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import cooldowns, events, incidents
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import approvals, escalations, sessions

MAX_EVENTS: Final = 500
MAX_MEMORIES: Final = 200
_REASONS: Final = {escalations.HANDLED: "marked as handled"}
WEEK, MONTH = timedelta(days=7), timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineItem:
    """An entry in the timeline of an incident; `ref` is its event, use or approval."""

    at: datetime
    kind: str
    level: str = "info"
    service: str | None = None
    text: str
    session_id: int | None = None
    ref: int | None = None


async def get(db: Database, number: int) -> Incident:
    """Return an incident; raises NotFound."""
    found = await incidents.get(db, number)
    return require(found, f"Incident {number} not found.")


async def read(db: Database, number: int, *, now: datetime) -> dict[str, Any]:
    """Return an incident as JSON with its timeline, oldest first; raises NotFound."""
    incident = await get(db, number)
    ids = await incidents.session_ids(db, number)
    own = [each for each in [await sessions.get(db, each) for each in ids] if each is not None]
    members = await incidents.members_of(db, number)
    used, learned = await _memories(db, ids)
    new = {each["id"] for each in learned}
    return {
        **as_incident(incident),
        "members": [
            {
                "service": each.service,
                "joined_at": serialize.format_moment(each.joined_at),
                "recovered_at": serialize.format_moment(each.recovered_at),
                "failures": each.failures,
                "detail": each.detail,
            }
            for each in members
        ],
        "sessions": [serialize.session(each) for each in own],
        "timeline": [_item_json(each) for each in await _timeline(db, incident, own)],
        "memories_used": used,
        "memories_learned": learned,
        "memories_changed": await _changed_memories(db, ids, new),
        "same_root": {
            "week": await incidents.count_since(db, incident.service, now - WEEK),
            "month": await incidents.count_since(db, incident.service, now - MONTH),
        },
    }


async def _timeline(db: Database, incident: Incident, own: list[Session]) -> list[TimelineItem]:
    ids = [each.id for each in own]
    entries = await incidents.entries(db, incident.id)
    reported = await _reported(db, incident)
    items = [_entry_item(each, reported) for each in entries]
    items += [item for each in own for item in _session_items(each)]
    uses = await cooldowns.of_sessions(db, ids)
    items += [item for use in uses for item in _use_items(use)]
    reports = {(use.service, use.report) for use in uses}
    for session in own:
        decisions = [
            item
            for each in await approvals.of_session(db, session.id)
            for item in _approval_items(each)
        ]
        stated = {(item.at, item.service) for item in decisions}  # the events of the same write
        items += decisions
        items += [
            item
            for item in await _event_items(db, EventSelection(session=session.id))
            if (item.at, item.service) not in stated
            and (item.service, item.text) not in reports
            and (item.service is None or _concerns(incident, session, item.service))
        ]
    items += await _closed_requests(db, incident)
    items += [item for item in reported if not any(_repeats(item, each) for each in entries)]
    return sorted(items, key=lambda item: item.at)


async def _reported(db: Database, incident: Incident) -> list[TimelineItem]:
    """Return the events about the services of an incident that no session has reported."""
    start, end = incident.started_at, incident.resolved_at
    return [
        item
        for name in incident.services
        for item in await _event_items(db, EventSelection(service=name, since=start, until=end))
        if item.session_id is None  # reports of other incidents' sessions do not count
    ]


def _concerns(incident: Incident, session: Session, service: str) -> bool:
    """Whether an event of a session is about an incident; a round reports other services too."""
    name = normalize_service_name(service)
    scope = session.services
    others = scope is None or name in map(normalize_service_name, scope)
    return is_member(incident, service) or name == GENERAL or not others


def _entry_item(entry: incidents.IncidentEntry, reported: Iterable[TimelineItem]) -> TimelineItem:
    """Return an entry of an incident; an alert has the level of its event."""
    own = entry.kind is EntryKind.NOTE  # a person divides a note into lines
    text = entry.text if own else "; ".join(entry.text.splitlines())
    level = next((each.level for each in reported if _repeats(each, entry)), Level.INFO)
    return TimelineItem(at=entry.at, kind=entry.kind, level=level, service=entry.service, text=text)


def _repeats(item: TimelineItem, entry: incidents.IncidentEntry) -> bool:
    """Whether an event only reports the alert of an entry."""
    return (
        entry.kind is EntryKind.ALERT
        and (item.at, item.service) == (entry.at, entry.service)
        and item.text.startswith(f"{REPORTED}{entry.text}")
        and UNREQUESTED not in item.text
    )


def _session_items(each: Session) -> Iterable[TimelineItem]:
    name = f"Session {each.id} (tier {each.tier}, {TIERS.get(each.tier, 'client')})"
    yield TimelineItem(
        at=each.started_at, kind="session_started", text=f"{name} started", session_id=each.id
    )
    if each.ended_at is not None:
        words = each.outcome or each.reason or each.status.replace("_", " ")
        yield TimelineItem(
            at=each.ended_at, kind="session_ended", text=f"{name}: {words}", session_id=each.id
        )


def _use_items(use: CooldownUse) -> Iterable[TimelineItem]:
    name = use.name or str(use.action)
    failed = use.outcome in (UseOutcome.FAILURE, UseOutcome.ABANDONED)
    yield TimelineItem(
        at=use.healthy_at,
        kind="action",
        service=use.service,
        text=f"{name} ({use.outcome})" + (f": {use.text}" if use.text else ""),
        level="warning" if failed else "info",
        session_id=use.session_id,
        ref=use.id,
    )


def _approval_items(each: Approval) -> Iterable[TimelineItem]:
    item = TimelineItem(
        at=each.created_at,
        kind="approval",
        service=each.service,
        text=f"Asked to approve {each.wish}",
        session_id=each.session_id,
        ref=each.id,
    )
    yield item
    if each.state is not ApprovalState.OPEN and each.decided_at:
        note = f": {each.note}" if each.note else ""
        yield replace(item, at=each.decided_at, text=f"{each.wish}: {each.became}{note}")


async def _closed_requests(db: Database, incident: Incident) -> list[TimelineItem]:
    """Return when the requests to a person for the services of an incident were closed, and why."""
    return [
        TimelineItem(
            at=each.closed_at,
            kind="event",
            service=each.service,
            text=f"No longer needs a person: {_REASONS.get(each.why, each.why)}",
            session_id=each.session_id,
        )
        for each in await escalations.closed_after(db, incident.started_at)
        if each.closed_at
        and each.closed_at <= (incident.resolved_at or each.closed_at)
        and is_member(incident, each.service)
    ]


async def _event_items(db: Database, chosen: EventSelection) -> list[TimelineItem]:
    page = await events.page(db, chosen, limit=MAX_EVENTS)
    return [
        TimelineItem(
            at=each.created_at,
            kind="event",
            service=each.service,
            text=each.text,
            level=each.level,
            session_id=each.session_id,
            ref=each.id,
        )
        for each in page.items
    ]


async def _memories(
    db: Database, ids: list[int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the memories that sessions had in their prompts, and those that they learned."""
    used: dict[int, str] = {}
    learned: list[Memory] = []
    for number in ids:
        for each in await exposures.of_session(db, number):
            if each.position is not None:
                used[each.memory_id] = each.line
        chosen = MemoryFilter(session_id=number)
        learned += (await memories.page(db, chosen, sort=Sort.CREATED, limit=MAX_MEMORIES)).items
    held = await memories.by_ids(db, [MemoryId(each) for each in used])
    return (
        [_brief(number, line, held.get(MemoryId(number))) for number, line in used.items()],
        [_brief(each.id, each.observation, each) for each in learned],
    )


async def _changed_memories(
    db: Database, ids: list[int], new: Collection[int]
) -> list[dict[str, Any]]:
    """Return the memories that sessions confirmed or weakened, without the new ones."""
    changes: dict[MemoryId, str] = {}
    for number in ids:
        reinforced, contradicted = await history.changed_by_session(db, number)
        changes |= dict.fromkeys(reinforced, "confirmed") | dict.fromkeys(contradicted, "weakened")
    chosen = [each for each in sorted(changes) if each not in new]
    return [
        {**_brief(each.id, each.observation, each), "change": changes[each.id]}
        for each in await memories.list_by_ids(db, chosen)
    ]


def _brief(number: int, text: str, memory: Memory | None) -> dict[str, Any]:
    return {
        "id": number,
        "text": text,
        "confidence": memory.confidence if memory else None,
        "active": bool(memory and memory.active),
    }


_item_json: Final = serialize.Writer[TimelineItem]()
