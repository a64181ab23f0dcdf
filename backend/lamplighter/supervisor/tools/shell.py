"""Commands of a session: judged, then run without a shell.

The target of a path is checked again when it is used, and judged by its real location.
"""

import os
from dataclasses import replace
from typing import Final

from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.shell.judge import (
    ActionCommand,
    PermittedCommand,
    RefusedCommand,
    judge_line,
)
from lamplighter.domain.shell.rules import CommandPolicy
from lamplighter.domain.text import one_line, shorten
from lamplighter.engines.bounded import ProgramResult
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.supervisor.tools.opened import NO_PROGRAMS, PATH, prepared
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.usecases.sessions.toolbox import ToolOutput

COMMAND_SECONDS: Final = 30.0
SHOWN_CHARS: Final = 12_000
ERRORS_CHARS: Final = 2_000
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The source of attributes for git, if it knows the setting: an empty tree."""
_PASSED_VARIABLES: Final = ("HOME", "USER", "TZ", "XDG_RUNTIME_DIR")
COMMAND_ENV: Final = {
    "PATH": PATH,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "SYSTEMD_COLORS": "0",
    "GIT_PAGER": "cat",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ATTR_SOURCE": EMPTY_TREE,
    "GIT_CONFIG_COUNT": str(len(NO_PROGRAMS)),
    **{f"GIT_CONFIG_KEY_{at}": name for at, name in enumerate(NO_PROGRAMS)},
    **{f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(NO_PROGRAMS.values())},
}


async def run_command(
    gate: Gate,
    readable: Readable,
    command: str,
    reason: str = "",
    *,
    seconds: float = COMMAND_SECONDS,
) -> ToolOutput:
    """Judge a command and carry out the verdict: read, act through the gate, or refuse."""
    if why_not := await gate.stopped():
        return _failed(f"Not run: {why_not}.")
    verdict = judge_line(command, _rules(gate, readable))
    if gate.session.tier not in gate.active.shell_tiers:
        verdict = RefusedCommand(f"tier {gate.session.tier} cannot run commands")
    match verdict:
        case RefusedCommand(why):
            await gate.refuse(command, why)
            return _failed(f"Not run: {why}.")
        case ActionCommand(service, action):
            return await _act(gate, service, action, reason)
    return await _look(gate, readable, verdict, command, seconds)


def _rules(gate: Gate, readable: Readable) -> CommandPolicy:
    """Return the rules of the current services.yaml, if it still declares them."""
    now = gate.declared_now().shell
    declared = tuple(pattern for pattern in gate.services.shell if pattern in now)
    return CommandPolicy(
        replace(gate.services, shell=declared),
        roots=tuple(map(str, readable.roots)),
        hidden=tuple(map(str, readable.private)),
    )


async def _act(gate: Gate, service: str, action: str, reason: str) -> ToolOutput:
    verdict = await gate.run_action(service, action, reason=reason)
    return ToolOutput(
        text=f"This is the action {action} of {service}. {verdict.heading}: {verdict.text}.",
        is_error=not verdict.accepted,
        structured={
            "service": service,
            "action": action,
            "outcome": verdict.outcome.value,
            "words": verdict.text,
            "use": verdict.use_id,
            "exit_code": verdict.exit_code,
        },
    )


async def _look(
    gate: Gate, readable: Readable, permitted: PermittedCommand, command: str, seconds: float
) -> ToolOutput:
    if gate.session.dry_run and permitted.declared:
        words = f"Dry run: would run {one_line(gate.here.redact(command))}."
        return ToolOutput(text=words, structured={"outcome": UseOutcome.WOULD.value})
    passed = {name: gate.env[name] for name in _PASSED_VARIABLES if name in gate.env}
    try:
        async with prepared(permitted, readable) as ready:
            ended = await gate.look(
                shorten(command, SHOWN_CHARS),
                ready.argv,
                timeout=seconds,
                env={**COMMAND_ENV, **passed, **ready.env},
                directory=ready.directory,
                fds=ready.fds,
            )
    except (Conflict, NotFound) as error:
        why = str(error).rstrip(".")
        if isinstance(error, Conflict):  # the command would have read another place
            await gate.refuse(command, why)
        return _failed(f"Not run: {why}.")
    ended = replace(ended, output=ready.named(ended.output), errors=ready.named(ended.errors))
    return _command_answer(gate, ended, seconds)


def _command_answer(gate: Gate, ended: ProgramResult, seconds: float) -> ToolOutput:
    if ended.error:
        return _failed(f"Not run: {gate.here.redact(ended.error)}.")
    output = _cut_output(gate, ended.output, SHOWN_CHARS)
    errors = _cut_output(gate, ended.errors, ERRORS_CHARS)
    how = f"timed out after {seconds:g} s" if ended.timed_out else f"exit {ended.exit_code}"
    parts = [how, output, f"On standard error:\n{errors}" if errors else ""]
    return ToolOutput(
        text="\n".join(filter(None, parts)),
        is_error=ended.timed_out,
        structured={
            "exit_code": ended.exit_code,
            "output": output,
            "errors": errors,
            "timed_out": ended.timed_out,
        },
    )


def _cut_output(gate: Gate, output: bytes, limit: int) -> str:
    text = gate.here.redact.lines(output.decode("utf-8", "replace"))
    return text if len(text) <= limit else f"{text[:limit]}…\n(truncated; request less output)"


def _failed(words: str) -> ToolOutput:
    return ToolOutput(text=words, is_error=True)
