"""What comes in from outside, goes out, and halts everything, as plain JSON."""

from typing import Any

from lamplighter.domain.alerts import Held
from lamplighter.domain.halt import Halt
from lamplighter.domain.notice import Notice
from lamplighter.domain.plain import at


def alert(each: Held) -> dict[str, Any]:
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
        "created_at": at(each.created_at),
        "last_at": at(each.last_at),
        "resolved_at": at(each.resolved_at),
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
        "next_at": at(each.next_at),
        "problem": each.problem,
        "created_at": at(each.created_at),
        "sent_at": at(each.sent_at),
        "version": each.version,
    }


def halt(each: Halt) -> dict[str, Any]:
    """Return a halt as JSON."""
    return {
        "id": each.id,
        "way": each.way,
        "reason": each.reason,
        "pulled_by": each.pulled_by,
        "pulled_at": at(each.pulled_at),
        "released_by": each.released_by,
        "released_at": at(each.released_at),
        "version": each.version,
    }
