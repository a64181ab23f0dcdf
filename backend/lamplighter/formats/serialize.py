"""Values as plain JSON: one shape for the API, the change feed and the command line."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from lamplighter.domain.access.access import Token
from lamplighter.domain.actions.approval import Approval
from lamplighter.domain.actions.halt import Halt
from lamplighter.domain.graph.entity import Entity, Relationship
from lamplighter.domain.memory.memory import MEMORY_FIELDS, Memory
from lamplighter.domain.memory.review import Review
from lamplighter.domain.search.search import SearchResult, SearchResults
from lamplighter.domain.services.cooldown import CooldownStatus, CooldownUse
from lamplighter.domain.services.event import Event
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.notice import Notice
from lamplighter.domain.sessions.handoff import Escalation, Finding
from lamplighter.domain.sessions.marker_results import CheckResult, MarkerResult
from lamplighter.domain.sessions.session import Session, SessionRequest
from lamplighter.formats.alerts import AlertIncident

if TYPE_CHECKING:  # it takes a while to load, and most commands never need it
    from lamplighter.domain.relate import RelationVerdict


_MEMORY_FIELDS: Final = tuple(name for name, each in MEMORY_FIELDS.items() if each.declared.public)
_MEMORY_MOMENTS: Final = tuple(
    name for name in _MEMORY_FIELDS if MEMORY_FIELDS[name].value_type is datetime
)


def format_moment(moment: datetime | None) -> str | None:
    """Write a moment as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    if moment is None:
        return None
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def memory(each: Memory) -> dict[str, Any]:
    """Return a memory as JSON."""
    values = {name: getattr(each, name) for name in _MEMORY_FIELDS}
    for name in _MEMORY_MOMENTS:
        values[name] = format_moment(values[name])
    values["tags"] = list(each.tags)
    return values


def review(each: Review, old: Memory | None, new: Memory | None) -> dict[str, Any]:
    """Return a review as JSON, beside both memories as they are now; None is one that is gone."""
    return {
        "id": each.id,
        "kind": each.kind,
        "state": each.state,
        "reason": each.reason,
        "said": each.observation,
        "service": each.service,
        "category": each.category,
        "session_id": each.session_id,
        "old": memory(old) if old else None,
        "new": memory(new) if new else None,
        "resolution": each.resolution,
        "resolved_by": each.resolved_by,
        "resolved_at": format_moment(each.resolved_at),
        "created_at": format_moment(each.created_at),
        "version": each.version,
    }


def entity(each: Entity) -> dict[str, Any]:
    """Return an entity as JSON."""
    return {
        "id": each.id,
        "kind": each.kind,
        "name": each.name,
        "project": each.project,
        "scope": each.scope,
        "properties": dict(each.properties),
        "source": each.source,
        "current": each.current,
        "merged_into": each.merged_into,
        "valid_to": format_moment(each.valid_to),
        "deleted_at": format_moment(each.deleted_at),
        "created_at": format_moment(each.created_at),
        "updated_at": format_moment(each.updated_at),
        "version": each.version,
    }


def relationship(each: Relationship) -> dict[str, Any]:
    """Return a relationship as JSON."""
    return {
        "id": each.id,
        "kind": each.kind,
        "source_id": each.source_id,
        "target_id": each.target_id,
        "project": each.project,
        "scope": each.scope,
        "properties": dict(each.properties),
        "source": each.source,
        "confidence": each.confidence,
        "valid_from": format_moment(each.valid_from),
        "valid_to": format_moment(each.valid_to),
        "deleted_at": format_moment(each.deleted_at),
        "created_at": format_moment(each.created_at),
        "updated_at": format_moment(each.updated_at),
        "version": each.version,
    }


def verdict(each: "RelationVerdict") -> dict[str, Any]:
    """Return how two observations relate, as JSON."""
    return {"label": each.label, "sure": each.sure, "p": each.p, "reason": each.reason}


def event(each: Event) -> dict[str, Any]:
    """Return an event as JSON."""
    return {
        "id": each.id,
        "level": each.level,
        "service": each.service,
        "text": each.text,
        "session_id": each.session_id,
        "tier": each.tier,
        "source": each.source,
        "created_at": format_moment(each.created_at),
        "version": each.version,
    }


def session(each: Session) -> dict[str, Any]:
    """Return a session as JSON, without its prompt block and its log."""
    return {
        "id": each.id,
        "external_id": each.external_id,
        "agent": each.agent,
        "project": each.project,
        "tier": each.tier,
        "engine": each.engine,
        "model": each.model,
        "trigger": each.trigger,
        "status": each.status,
        "outcome": each.outcome,
        "outcome_state": each.outcome_state,
        "reason": each.reason,
        "prompt": each.prompt,
        "parent_id": each.parent_id,
        "services": _names(each.services),
        "dry_run": each.dry_run,
        "started_at": format_moment(each.started_at),
        "ended_at": format_moment(each.ended_at),
        "exit_code": each.exit_code,
        "response": each.response,
        "summary": each.summary,
        "cost_usd": each.cost_usd,
        "turns": each.turns,
        "duration_ms": each.duration_ms,
        "log_offset": each.log_offset,
        "learned": each.learned,
        "reinforced": each.reinforced,
        "events": each.events,
        "ignored": each.ignored,
        "markers_left": each.markers_left,
        "stopping": each.running and each.stop_requested_at is not None,
        "input_tokens": each.input_tokens,
        "output_tokens": each.output_tokens,
        "cache_read_tokens": each.cache_read_tokens,
        "cache_write_tokens": each.cache_write_tokens,
        "budget_usd": each.budget_usd,
        "resumed": each.resumed,
        "directory": each.directory,
        "host": each.host,
        "output_pending": each.output_pending,
        "version": each.version,
    }


def request(each: SessionRequest) -> dict[str, Any]:
    """Return a request as JSON."""
    return {
        "id": each.id,
        "state": each.state,
        "position": each.position,
        "session_id": each.session_id,
        "tier": each.tier,
        "services": _names(each.services),
        "prompt": each.prompt,
        "dry_run": each.dry_run,
        "engine": each.engine,
        "trigger": each.trigger,
        "created_at": format_moment(each.created_at),
        "version": each.version,
    }


def marker_result(each: MarkerResult) -> dict[str, Any]:
    """Return what became of a marker as JSON."""
    return {
        "id": each.id,
        "session_id": each.session_id,
        "offset": each.offset,
        "index": each.item,
        "line": each.line,
        "what": each.what,
        "state": each.state,
        "outcome": each.outcome,
        "reason": each.reason,
        "text": each.text,
        "service": each.service,
        "category": each.category,
        "memory_id": each.memory_id,
        "event_id": each.event_id,
        "created_at": format_moment(each.created_at),
        "version": each.version,
    }


def leader(each: Leader | None, *, now: datetime) -> dict[str, Any]:
    """Return the supervisor's state as JSON; None is a supervisor that never ran."""
    away = each is None or each.state(now=now) == "away"
    return {
        "state": "away" if each is None else each.state(now=now),
        "pid": None if each is None or away else each.pid,
        "heartbeat_at": format_moment(each.heartbeat_at) if each else None,
        "next_round_at": format_moment(each.next_round_at) if each and not away else None,
        "session_id": each.session_id if each and not away else None,
        "interval_seconds": each.interval_seconds if each else None,
        "engine": each.engine if each else None,
        "dry_run": each.dry_run if each else False,
        "revision": each.version if each else 0,
    }


def cooldown_use(each: CooldownUse) -> dict[str, Any]:
    """Return a use of a cooldown, or its refusal, as JSON."""
    return {
        "id": each.id,
        "service": each.service,
        "action": each.action,
        "name": each.name,
        "outcome": each.outcome,
        "text": each.text,
        "attempts": each.attempts,
        "session_id": each.session_id,
        "tier": each.tier,
        "healthy_after": each.healthy_after,
        "counts": each.spent,
        "created_at": format_moment(each.created_at),
        "settled_at": format_moment(each.settled_at),
        "cleared_at": format_moment(each.cleared_at),
        "cleared_by": each.cleared_by,
        "version": each.version,
    }


def cooldown_status(each: CooldownStatus) -> dict[str, Any]:
    """Return how much of a cooldown is used as JSON."""
    return {
        "service": each.service,
        "action": each.action,
        "used": each.used,
        "limit": each.limit.uses,
        "window_seconds": round(each.limit.window.total_seconds()),
        "frees_at": format_moment(each.frees_at),
        "last_at": format_moment(each.last_at),
    }


def approval(each: Approval) -> dict[str, Any]:
    """Return an approval as JSON; what is secret in its command is masked."""
    return {
        "id": each.id,
        "state": each.state,
        "service": each.service,
        "action": each.action,
        "name": each.name,
        "argv": list(each.masked_argv),
        "directory": each.directory,
        "edited": each.edited,
        "reason": each.reason,
        "memories": list(each.memories),
        "session_id": each.session_id,
        "tier": each.tier,
        "replaces": each.replaces,
        "use_id": each.use_id,
        "decided_by": each.decided_by,
        "decided_at": format_moment(each.decided_at),
        "note": each.note,
        "created_at": format_moment(each.created_at),
        "expires_at": format_moment(each.expires_at),
        "version": each.version,
    }


def check_result(each: CheckResult) -> dict[str, Any]:
    """Return the result of a check as JSON."""
    return {
        "service": each.service,
        "check": each.name,
        "kind": each.kind,
        "ok": each.ok,
        "warned": each.warned,
        "status": each.status,
        "latency_ms": each.latency_ms,
        "attempts": each.attempts,
        "flapped": each.flapped,
        "detail": each.detail,
        "at": format_moment(each.at),
    }


def escalation(each: Escalation) -> dict[str, Any]:
    """Return an escalation as JSON."""
    return {
        "id": each.id,
        "session_id": each.session_id,
        "child_id": each.child_id,
        "tier": each.tier,
        "service": each.service,
        "reason": each.reason,
        "state": each.state,
        "why": each.why,
        "created_at": format_moment(each.created_at),
        "closed_at": format_moment(each.closed_at),
        "version": each.version,
    }


def token(each: Token) -> dict[str, Any]:
    """Return a token as JSON; what is kept of its secret is not in it."""
    return {
        "id": each.id,
        "name": each.name,
        "scopes": list(each.scopes),
        "agent": each.agent,
        "created_at": format_moment(each.created_at),
        "expires_at": format_moment(each.expires_at),
        "used_at": format_moment(each.used_at),
        "revoked_at": format_moment(each.revoked_at),
        "version": each.version,
    }


def finding(each: Finding) -> dict[str, Any]:
    """Return what an investigation found as JSON."""
    return {
        "service": each.service,
        "check": each.check,
        "stage": each.stage,
        "cause": each.cause,
        "detail": each.detail,
        "session_id": each.session_id,
        "at": format_moment(each.at),
    }


def _names(services: tuple[str, ...] | None) -> list[str] | None:
    return None if services is None else list(services)


def alert(each: AlertIncident) -> dict[str, Any]:
    """Return an alert as JSON."""
    return {
        "id": each.id,
        "source": each.source,
        "fingerprint": each.fingerprint,
        "incident": each.incident,
        "state": each.state,
        "service": each.service,
        "severity": each.severity,
        "title": each.title,
        "details": dict(each.details),
        "request_id": each.request_id,
        "deliveries": each.deliveries,
        "created_at": format_moment(each.created_at),
        "last_at": format_moment(each.last_at),
        "resolved_at": format_moment(each.resolved_at),
        "version": each.version,
    }


def notice(each: Notice) -> dict[str, Any]:
    """Return a notice as JSON."""
    return {
        "id": each.id,
        "kind": each.kind,
        "level": each.level,
        "title": each.title,
        "body": each.body,
        "service": each.service,
        "event_id": each.event_id,
        "state": each.state,
        "attempts": each.attempts,
        "next_at": format_moment(each.next_at),
        "problem": each.problem,
        "created_at": format_moment(each.created_at),
        "sent_at": format_moment(each.sent_at),
        "version": each.version,
    }


def halt(each: Halt) -> dict[str, Any]:
    """Return a halt as JSON."""
    return {
        "id": each.id,
        "way": each.way,
        "reason": each.reason,
        "pulled_by": each.pulled_by,
        "pulled_at": format_moment(each.pulled_at),
        "released_by": each.released_by,
        "released_at": format_moment(each.released_at),
        "version": each.version,
    }


def search_results(found: SearchResults) -> dict[str, Any]:
    """Return what was found as plain values."""
    return {
        "items": [_search_result(each) for each in found.results],
        "terms": list(found.terms),
        "partial": found.partial,
        "missing": list(found.missing),
        "layers": [each.value for each in found.layers],
        "filters": list(found.filters),
    }


def _search_result(each: SearchResult) -> dict[str, Any]:
    return {
        "layer": each.layer.value,
        "rank": each.rank,
        "score": each.score,
        "method": each.method.value,
        "reasons": [{"what": reason.what, "score": reason.score} for reason in each.reasons],
        "text": each.text,
        "spans": [list(span) for span in each.spans],
        each.layer.value: _row(each.row),
    }


def _row(row: Memory | Session | Event) -> dict[str, Any]:
    if isinstance(row, Memory):
        return memory(row)
    return session(row) if isinstance(row, Session) else event(row)
