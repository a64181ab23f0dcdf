"""Commands that a session gives: judged, then run as the words they are; no shell ever runs.

What a path leads to is looked at again when it is used, and judged by where it
really is.
"""

import asyncio
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lamplighter.domain.cooldown import Outcome
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.policy import quoted
from lamplighter.domain.shell import Act, Look, Refused, Rules, judged
from lamplighter.domain.shell.git import settings_problem
from lamplighter.domain.shell.rules import PLAIN_FILES
from lamplighter.domain.shell.spelling import TRUSTED
from lamplighter.domain.text import one_line, shortened
from lamplighter.engines.bounded import Ended
from lamplighter.supervisor.gate import Gate
from lamplighter.usecases.toolbox import Answer

COMMAND_SECONDS: Final = 30.0
SHOWN_CHARS: Final = 12_000
ERRORS_CHARS: Final = 2_000
GIT_SETTINGS_BYTES: Final = 256 * 1024
PATH: Final = ":".join(TRUSTED)
_KEPT: Final = ("HOME", "USER", "TZ", "XDG_RUNTIME_DIR")
_ENV: Final = {
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
    # what is trusted is decided by the settings of the repository, which are read before
    "GIT_CONFIG_COUNT": "4",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
    # `diff` and `describe` write the index anew, and that runs a hook of the repository
    "GIT_CONFIG_KEY_2": "core.hooksPath",
    "GIT_CONFIG_VALUE_2": os.devnull,
    "GIT_CONFIG_KEY_3": "diff.autoRefreshIndex",
    "GIT_CONFIG_VALUE_3": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """The tiers whose sessions may give commands, and the files that these may read."""

    tiers: tuple[int, ...] = ()
    roots: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()
    seconds: float = COMMAND_SECONDS


async def run_command(gate: Gate, shell: Shell, command: str, reason: str = "") -> Answer:
    """Judge a command and do what it comes to: look, act through the gate, or refuse."""
    if why_not := await gate.stopped():
        return _failed(f"Not run: {why_not}.")
    found = judged(command, _rules(gate, shell))
    if gate.session.tier not in shell.tiers:
        found = Refused(f"tier {gate.session.tier} gives no commands")
    match found:
        case Refused(why):
            await gate.refuse(command, why)
            return _failed(f"Not run: {why}.")
        case Act(service, action):
            return await _act(gate, service, action, reason)
    return await _look(gate, shell, found, command)


def _rules(gate: Gate, shell: Shell) -> Rules:
    """Return the rules as services.yaml has them now, where it still says so."""
    now = gate.declared_now().shell
    declared = tuple(pattern for pattern in gate.services.shell if pattern in now)
    return Rules(
        replace(gate.services, shell=declared),
        roots=tuple(map(str, shell.roots)),
        hidden=tuple(map(str, shell.private)),
    )


async def _act(gate: Gate, service: str, action: str, reason: str) -> Answer:
    verdict = await gate.run_action(service, action, reason=reason)
    done = verdict.outcome in (Outcome.SUCCESS, Outcome.WOULD)
    return Answer(
        text=f"This is the action {action} of {service}. {verdict.outcome}: {verdict.words}.",
        is_error=not done,
        found={
            "service": service,
            "action": action,
            "outcome": verdict.outcome.value,
            "words": verdict.words,
            "use": verdict.use_id,
            "exit_code": verdict.exit_code,
        },
    )


async def _look(gate: Gate, shell: Shell, look: Look, command: str) -> Answer:
    if gate.session.dry_run and look.declared:
        words = f"Dry run: would run {one_line(gate.redact(command))}."
        return Answer(text=words, found={"outcome": Outcome.WOULD.value})
    try:
        argv = await asyncio.to_thread(_resolved, look, shell)
    except Conflict as escape:
        await gate.refuse(command, str(escape))
        return _failed(f"Not run: {escape}.")
    except NotFound as missing:
        return _failed(f"Not run: {missing}.")
    directory = await asyncio.to_thread(tempfile.mkdtemp, prefix="lamplighter-")
    try:
        ended = await gate.look(
            shortened(command, SHOWN_CHARS),
            argv,
            timeout=shell.seconds,
            env=_env(gate),
            directory=directory,
        )
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
    return _told(gate, ended, shell.seconds)


def _env(gate: Gate) -> dict[str, str]:
    return {**_ENV, **{name: gate.env[name] for name in _KEPT if name in gate.env}}


def _resolved(look: Look, shell: Shell) -> tuple[str, ...]:
    """Return the words to run: the program where it lies, and each path as what it leads to.

    Raises Conflict where that is not to be read, NotFound where nothing is.
    """
    name = look.argv[0]
    program = name if name.startswith("/") else shutil.which(name, path=PATH)
    if program is None or not os.path.isfile(program):
        raise NotFound(f"{name} is not on this machine")
    argv = [program, *look.argv[1:]]
    rules = Rules(roots=_real(shell.roots), hidden=_real(shell.private))
    for place in look.paths:
        argv[place] = _resolved_path(argv[place], rules)
        if name == "git":
            _hold_repository(Path(argv[place]))
    return tuple(argv)


def _real(paths: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)


def _resolved_path(path: str, rules: Rules) -> str:
    if path in PLAIN_FILES:
        return path
    try:
        real = os.path.realpath(path, strict=True)
        kind = os.stat(real).st_mode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no such path"
        raise NotFound(f"{quoted(path)} cannot be looked at: {why}") from error
    if why_not := rules.path_problem(real):
        raise Conflict(f"{quoted(path)} leads elsewhere: {why_not}")
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise Conflict(f"{quoted(path)} is neither a file nor a directory")
    return real


def _hold_repository(directory: Path) -> None:
    """Let git look at a repository only whose own settings run nothing."""
    inside = directory / ".git"
    if inside.is_symlink() or not inside.is_dir():
        raise Conflict(f"{quoted(str(directory))} is not the top of a repository")
    if (inside / "commondir").exists() or (inside / "objects/info/alternates").exists():
        raise Conflict(f"{quoted(str(directory))} has parts elsewhere")
    try:
        with (inside / "config").open("rb") as file:
            text = file.read(GIT_SETTINGS_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise NotFound(f"{quoted(str(directory))} has no settings: {error.strerror}") from error
    if problem := settings_problem(text):
        raise Conflict(f"{quoted(str(directory))} could run a program: {problem}")


def _told(gate: Gate, ended: Ended, seconds: float) -> Answer:
    if ended.error:
        return _failed(f"Not run: {gate.redact(ended.error)}.")
    output = _shown(gate, ended.output, SHOWN_CHARS)
    errors = _shown(gate, ended.errors, ERRORS_CHARS)
    how = f"exit {ended.exit_code}"
    if ended.timed_out:
        how = f"ended by us after {seconds:g} s"
    parts = [how, output, f"On standard error:\n{errors}" if errors else ""]
    return Answer(
        text="\n".join(part for part in parts if part),
        is_error=ended.timed_out,
        found={
            "exit_code": ended.exit_code,
            "output": output,
            "errors": errors,
            "timed_out": ended.timed_out,
        },
    )


def _shown(gate: Gate, said: bytes, limit: int) -> str:
    text = gate.redact.lines(said.decode("utf-8", "replace"))
    return text if len(text) <= limit else f"{text[:limit]}…\n(cut; ask for less)"


def _failed(words: str) -> Answer:
    return Answer(text=words, is_error=True)
