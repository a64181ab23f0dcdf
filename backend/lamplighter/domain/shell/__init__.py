"""Commands of a session: strictly parsed, judged, never passed to a shell."""

from lamplighter.domain.shell.judge import (
    ActionCommand,
    CommandVerdict,
    PermittedCommand,
    RefusedCommand,
    judge_line,
)
from lamplighter.domain.shell.parsing import CommandWords, UnclearCommand, parse
from lamplighter.domain.shell.rules import CommandPolicy

__all__ = [
    "ActionCommand",
    "CommandPolicy",
    "CommandVerdict",
    "CommandWords",
    "PermittedCommand",
    "RefusedCommand",
    "UnclearCommand",
    "judge_line",
    "parse",
]
