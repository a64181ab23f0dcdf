"""Repairs: which failing checks an action may repair, judged from check results alone."""

from collections.abc import Sequence

from lamplighter.domain.services.service import NO_ANSWER, Action, Service, normalize_service_name
from lamplighter.domain.sessions.session import CheckResult
from lamplighter.domain.text import one_line

HEALTHY_AGAIN = "healthy again before the action ran"


def is_answering(results: Sequence[CheckResult]) -> bool:
    """Whether a service answers: by HTTP if it has such a check, else by any handshake."""
    http = [each for each in results if each.kind == "http"]
    return any(each.answered for each in http or results)


def repairable_checks(action: Action, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the failing checks that an action is declared to repair."""
    names = {normalize_service_name(name) for name in action.repairs}
    silent = NO_ANSWER in names and not is_answering(results)
    return [
        each
        for each in results
        if not each.ok
        and (
            normalize_service_name(each.name) in names
            or each.kind in names
            or (silent and each.answered is False)
        )
    ]


def no_repair_reason(service: Service, action: Action, results: Sequence[CheckResult]) -> str:
    """Return why an action would not help now; empty if it may repair something."""
    if not service.checks or repairable_checks(action, results):
        return ""
    failing = [f"{each.name}: {one_line(each.detail)}" for each in results if not each.ok]
    if not failing:
        return HEALTHY_AGAIN
    state = f"{service.name} answers, and " if is_answering(results) else ""
    purpose = f"{state}{action.name} is declared only for {' and '.join(action.repairs)}"
    return f"{'; '.join(failing)}; {purpose}"
