"""Repairs: which failing checks an action may repair, judged from check results alone."""

from collections.abc import Sequence

from lamplighter.domain.services.service import NO_ANSWER, Action, Service, fold
from lamplighter.domain.sessions.marker_results import Look
from lamplighter.domain.text import one_line

HEALTHY_AGAIN = "healthy again before the action ran"


def answers(results: Sequence[Look]) -> bool:
    """Whether a service answers: by HTTP where it has such a check, else by any handshake."""
    http = [each for each in results if each.kind == "http"]
    return any(each.answered for each in http or results)


def repairable(action: Action, results: Sequence[Look]) -> list[Look]:
    """Return the failing checks that an action is declared to repair."""
    names = {fold(name) for name in action.repairs}
    silent = NO_ANSWER in names and not answers(results)
    return [
        each
        for each in results
        if not each.ok
        and (fold(each.name) in names or each.kind in names or (silent and each.answered is False))
    ]


def why_not(service: Service, action: Action, results: Sequence[Look]) -> str:
    """Say why an action would do no good now; empty when it may repair something."""
    if not service.checks or repairable(action, results):
        return ""
    failing = [f"{each.name}: {one_line(each.detail)}" for each in results if not each.ok]
    if not failing:
        return HEALTHY_AGAIN
    state = f"{service.name} answers, and " if answers(results) else ""
    purpose = f"{state}{action.name} is declared for {' and '.join(action.repairs)} only"
    return f"{'; '.join(failing)}; {purpose}"
