"""The environment block of a prompt: scope, permissions and escalations."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.cooldown import CooldownStatus, describe_slots
from lamplighter.domain.services.service import NO_ANSWER, Action, ApprovalPolicy, Service
from lamplighter.domain.sessions.handoff import Handoff
from lamplighter.domain.sessions.session import TIERS, SessionPlan
from lamplighter.domain.text import one_line

CooldownUsage = Mapping[str, Sequence[CooldownStatus]]


def build_env_context(
    plan: SessionPlan,
    services: Sequence[Service],
    *,
    now: datetime,
    used: CooldownUsage | None = None,
    handoff: Handoff | None = None,
) -> str:
    """Describe a session's surroundings: time, tier, dry run and the services in scope.

    Each service comes with its declared actions and what `used` leaves of its
    cooldowns. A handoff follows in a section of its own.
    """
    lines = [
        "## Environment",
        "",
        f"- Time: {now:%Y-%m-%d %H:%M} UTC",
        f"- Tier: {plan.tier} of {MAX_TIER} ({TIERS[plan.tier]})",
        f"- Dry run: {'yes, change nothing' if plan.dry_run else 'no'}",
        f"- Services in scope: {len(services)}",
        *(_service_line(service, used or {}, now) for service in services),
    ]
    if handoff is not None:
        lines += _handoff_lines(handoff)
    return "\n".join(lines) + "\n"


def _service_line(service: Service, used: CooldownUsage, now: datetime) -> str:
    checks = ", ".join(f"{check.name} ({check.target})" for check in service.checks) or "no checks"
    after = f"; depends on {', '.join(service.depends_on)}" if service.depends_on else ""
    actions = _actions(service, used.get(service.name, ()), now)
    return f"  - {service.name}: {one_line(checks)}{after}; actions: {actions}"


def _actions(service: Service, used: Sequence[CooldownStatus], now: datetime) -> str:
    if not service.actions:
        return "none declared"
    kinds = {action.kind for action in service.actions}
    names = ", ".join(_action_name(service, action) for action in service.actions)
    slots = [describe_slots(each, now=now) for each in used if each.action in kinds]
    return "; ".join([names, *slots])


def _action_name(service: Service, action: Action) -> str:
    kind = "" if action.name == action.kind else str(action.kind)
    asks = "" if service.approval_of(action) is ApprovalPolicy.NEVER else "needs approval"
    repairs = "" if action.repairs == (NO_ANSWER,) else f"for {' and '.join(action.repairs)}"
    beside = "; ".join(filter(None, (kind, repairs, asks)))
    return f"{action.name} ({beside})" if beside else action.name


def _handoff_lines(handoff: Handoff) -> Iterator[str]:
    yield from ("", "## Handoff", "")
    yield f"Session {handoff.session_id} (tier {handoff.tier - 1}) escalated:"
    for each in handoff.escalations:
        yield f"- {each.service}: {one_line(each.reason)}"
    for result in handoff.check_results:
        seen = one_line(result.detail) or ("passed" if result.ok else "failed")
        yield f"- check: {result.service}/{result.name} {'ok' if result.ok else 'failing'}: {seen}"
    for found in handoff.findings:
        cause = f", caused by {found.cause}" if found.cause else ""
        yield (
            f"- diagnosis: {found.service} fails at {found.stage}{cause}: {one_line(found.detail)}"
        )
    for event in handoff.changed:
        what = f"{event.change} of {event.service} at {event.created_at:%H:%M} UTC"
        yield f"- change: {what}: {one_line(event.text)}"
    for use in handoff.tried:
        when = f"at {use.created_at:%H:%M} UTC"
        yield f"- action: {use.action} of {use.service} {when}, {use.outcome}: {one_line(use.text)}"
