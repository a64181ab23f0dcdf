"""Evidence: observations and measurements of the probe, from its tool results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamplighter.domain.sessions.handoff import Finding
from lamplighter.domain.sessions.session import CheckResult
from lamplighter.domain.text import one_line


@dataclass(frozen=True, slots=True)
class RecoveryTime:
    """The seconds until a service was healthy after a use of its cooldown."""

    use_id: int
    seconds: float


def parse_evidence(record: Mapping[str, Any]) -> CheckResult | Finding | RecoveryTime | None:
    """Return the evidence in a structured tool result; None for a result that is not stored."""
    match record:
        case {"service": str(service), "check": str(name), "kind": str(kind), "ok": bool(ok)}:
            return _parse_check_result(record, service, name, kind, ok=ok)
        case {"service": str(service), "stage": str(stage)}:
            return Finding(
                service=service,
                stage=stage,
                check=_text(record.get("check")),
                cause=_text(record.get("cause")) or None,
                detail=_text(record.get("detail")),
            )
        case {"use": int(use), "healthy_after": int() | float() as seconds}:
            return RecoveryTime(use, float(seconds))
    return None


def _parse_check_result(
    record: Mapping[str, Any], service: str, name: str, kind: str, *, ok: bool
) -> CheckResult:
    status, latency = record.get("status"), record.get("latency_ms")
    answered = record.get("answered")
    return CheckResult(
        service=service,
        name=name,
        kind=kind,
        ok=ok,
        status=status if isinstance(status, int) else None,
        latency_ms=latency if isinstance(latency, int | float) else None,
        attempts=record["attempts"] if isinstance(record.get("attempts"), int) else 1,
        flapped=record.get("flapped") is True,
        warned=record.get("warned") is True,
        detail=_text(record.get("detail")),
        answered=answered if isinstance(answered, bool) else None,
    )


def _text(value: Any) -> str:
    return one_line(str(value or ""))
