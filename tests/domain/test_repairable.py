"""Which failing checks an action may repair."""

import pytest

from lamplighter.domain.actions.repairs import (
    HEALTHY_AGAIN,
    is_answering,
    no_repair_reason,
    repairable_checks,
)
from lamplighter.domain.services.check import HttpCheck
from lamplighter.domain.services.service import Action, ActionKind, Service
from lamplighter.domain.sessions.session import CheckResult

WEB = Service(name="web", checks=(HttpCheck(name="http", url="http://127.0.0.1/"),))


def result(name: str, *, ok: bool, answered: bool | None = None, kind: str = "") -> CheckResult:
    return CheckResult(
        service="web", name=name, kind=kind or name, ok=ok, answered=answered, detail="why"
    )


UP = result("http", ok=True, answered=True)
NOT_FOUND = result("http", ok=False, answered=True)
SERVER_ERROR = result("http", ok=False, answered=False)
NO_NAME = result("http", ok=False)
OPEN = result("tcp", ok=True, answered=True)
CLOSED = result("tcp", ok=False, answered=False)
EXPIRED = result("tls", ok=False, answered=True)
ABSENT = result("process", ok=False, answered=False)
RUNNING = result("process", ok=True)
FULL = result("disk", ok=False)
CONFIG = result("config", ok=False, kind="command")


def restart(*repairs: str) -> Action:
    more = {"repairs": repairs} if repairs else {}
    return Action(name="restart", kind=ActionKind.RESTART, argv=("true",), **more)


@pytest.mark.parametrize(
    ("results", "whether"),
    [
        ([UP, CLOSED], True),
        ([NOT_FOUND], True),
        ([SERVER_ERROR, OPEN], False),
        ([SERVER_ERROR, UP], True),
        ([OPEN], True),
        ([CLOSED, EXPIRED], True),
        ([CLOSED], False),
        ([RUNNING, CONFIG], False),
    ],
)
def test_an_http_check_else_any_connection_shows_that_a_service_answers(results, whether) -> None:
    assert is_answering(results) is whether


@pytest.mark.parametrize(
    ("repairs", "results", "names"),
    [
        ((), [SERVER_ERROR, OPEN], ["http"]),
        ((), [CLOSED], ["tcp"]),
        ((), [ABSENT], ["process"]),
        ((), [SERVER_ERROR, CONFIG, FULL], ["http"]),
        ((), [UP, CONFIG], []),
        ((), [CONFIG], []),
        ((), [FULL], []),
        ((), [EXPIRED], []),
        ((), [UP, ABSENT], []),
        ((), [NOT_FOUND], []),
        ((), [NO_NAME], []),
        (("config",), [UP, CONFIG], ["config"]),
        (("command",), [UP, CONFIG], ["config"]),
        (("config",), [SERVER_ERROR], []),
        (("no-answer", "config"), [SERVER_ERROR, CONFIG], ["http", "config"]),
    ],
)
def test_an_action_repairs_only_the_failures_that_it_is_declared_for(
    repairs, results, names
) -> None:
    assert [each.name for each in repairable_checks(restart(*repairs), results)] == names


def test_the_refusal_starts_with_the_cause() -> None:
    said = no_repair_reason(WEB, restart(), [UP, CONFIG])

    assert said == "config: why; web answers, and restart is declared only for no-answer"


def test_a_service_that_is_healthy_needs_no_action() -> None:
    assert no_repair_reason(WEB, restart(), [UP, OPEN]) == HEALTHY_AGAIN


def test_a_repairable_failure_has_no_reason_against_the_action() -> None:
    assert no_repair_reason(WEB, restart(), [SERVER_ERROR]) == ""
