"""The check process: runs scheduled checks, apart from the supervisor.

A line on its standard input is one check, a line on its standard output is the outcome of one.
It ends when its input ends, with all programs that its checks run.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from lamplighter.domain.services.check import Check

_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")


class CheckOrder(msgspec.Struct, frozen=True):
    """A check to run; `due` is when, by the steady clock that all processes share."""

    id: int
    due: float
    check: dict[str, Any]


class CheckReport(msgspec.Struct, frozen=True):
    """The outcome of a check.

    `began` is by the same clock as `due`. `failed` are attempts, `answered` states whether the
    service answered at all; None if the check cannot tell. `starved` states that the process itself
    had no processor time for too long to blame the service for a failure. `error` is the reason why
    the check could not run at all.
    """

    id: int
    began: float
    ok: bool = False
    warned: bool = False
    latency_ms: float | None = None
    status: int | None = None
    attempts: int = 1
    detail: str = ""
    failed: int = 0
    answered: bool | None = None
    starved: bool = False
    error: str = ""


def command() -> tuple[str, ...]:
    """Return the command that starts the process."""
    return sys.executable, "-m", "lamplighter.engines.checker"


def environment() -> dict[str, str]:
    """Return the environment of the process; no setting and no secret is in it."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def write_order(number: int, due: float, check: Check) -> bytes:
    """Return the line that orders a check."""
    from lamplighter.engines.probe.request import pack_check

    return msgspec.json.encode(CheckOrder(number, due, pack_check(check))) + b"\n"


def read_report(line: bytes) -> CheckReport:
    """Return the outcome that a line holds; ValueError describes the problem."""
    return msgspec.json.decode(line, type=CheckReport)
