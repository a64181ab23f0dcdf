"""Values as plain JSON: one shape for the API, the change feed and the command line."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from lamplighter.domain.fields import DeclaredField, declared_fields
from lamplighter.domain.text import format_exact

if TYPE_CHECKING:  # late imports: a command loads only the types that it writes
    from lamplighter.domain.access.access import Device, Token
    from lamplighter.domain.actions.approval import Approval
    from lamplighter.domain.actions.halt import Halt
    from lamplighter.domain.graph.entity import Entity, Relationship
    from lamplighter.domain.memory.memory import Memory
    from lamplighter.domain.memory.review import Review
    from lamplighter.domain.relate import RelationVerdict
    from lamplighter.domain.search.search import NotebookText
    from lamplighter.domain.services.alert import AlertIncident
    from lamplighter.domain.services.cooldown import CooldownStatus, CooldownUse
    from lamplighter.domain.services.event import Event
    from lamplighter.domain.services.incident import Incident
    from lamplighter.domain.services.leader import Leader
    from lamplighter.domain.services.notice import Notice
    from lamplighter.domain.sessions.handoff import Escalation, Finding
    from lamplighter.domain.sessions.markers import MarkerResult
    from lamplighter.domain.sessions.session import CheckResult, Session, SessionRequest
    from lamplighter.domain.verify.attached import MemoryCheck

T = TypeVar("T")


def format_moment(moment: datetime | None) -> str | None:
    """Write a moment, if there is one, as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    return None if moment is None else format_exact(moment)


class Writer(Generic[T]):
    """Serializes an entity to JSON: its public fields in the order of their declaration.

    `behind` are further values, each with its name, by the field that they follow. The declaration
    is loaded with the first value: a process that writes no entity does not load it.
    """

    def __init__(self, **behind: tuple[str, Callable[[T], Any]]) -> None:
        self._behind = behind
        self._values: list[tuple[str, Callable[[Any], Any]]] = []

    def __call__(self, each: T) -> dict[str, Any]:
        """Return it as JSON."""
        if not self._values:
            self._values = [*self._declared(type(each))]
        return {name: value(each) for name, value in self._values}

    def _declared(self, entity: type[T]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
        for field in declared_fields(entity).values():
            if field.declared.public:
                yield field.declared.json or field.name, _value(field)
            if field.name in self._behind:
                yield self._behind[field.name]


def _value(field: DeclaredField) -> Callable[[Any], Any]:
    value: Callable[[Any], Any] = attrgetter(field.name)
    if field.value_type is datetime:
        return lambda each: format_moment(value(each))
    if field.value_type in (tuple, Mapping):
        kind = list if field.value_type is tuple else dict
        return lambda each: None if value(each) is None else kind(value(each))
    return value


memory: "Final[Writer[Memory]]" = Writer()
event: "Final[Writer[Event]]" = Writer()
incident: "Final[Writer[Incident]]" = Writer()
session: "Final[Writer[Session]]" = Writer(
    markers_left=("stopping", lambda each: each.running and each.stop_requested_at is not None),
)
request: "Final[Writer[SessionRequest]]" = Writer()
marker_result: "Final[Writer[MarkerResult]]" = Writer()
cooldown_use: "Final[Writer[CooldownUse]]" = Writer(healthy_after=("counts", attrgetter("spent")))
approval: "Final[Writer[Approval]]" = Writer()
check_result: "Final[Writer[CheckResult]]" = Writer()
escalation: "Final[Writer[Escalation]]" = Writer()
notebook_text: "Final[Writer[NotebookText]]" = Writer()
token: "Final[Writer[Token]]" = Writer()
device: "Final[Writer[Device]]" = Writer()
finding: "Final[Writer[Finding]]" = Writer()
alert: "Final[Writer[AlertIncident]]" = Writer()
notice: "Final[Writer[Notice]]" = Writer()
halt: "Final[Writer[Halt]]" = Writer()
entity: "Final[Writer[Entity]]" = Writer(valid_to=("current", attrgetter("current")))
relationship: "Final[Writer[Relationship]]" = Writer()
memory_check: "Final[Writer[MemoryCheck]]" = Writer()


def review(each: "Review", old: "Memory | None", new: "Memory | None") -> dict[str, Any]:
    """Return a review as JSON, with the current form of both memories; None is a deleted one."""
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


def verdict(each: "RelationVerdict") -> dict[str, Any]:
    """Return how two observations relate, as JSON."""
    return {"label": each.label, "sure": each.sure, "p": each.p, "reason": each.reason}


def leader(each: "Leader | None", *, now: datetime) -> dict[str, Any]:
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


def cooldown_status(each: "CooldownStatus") -> dict[str, Any]:
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
