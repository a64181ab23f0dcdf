"""Engines: an engine runs a session and prints its stream.

An engine reports whether it is ready and which command runs a session. Running that command,
following its output and ending it is the same for all engines.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

if TYPE_CHECKING:  # engine processes import this package without needing these
    from collections.abc import Mapping
    from datetime import datetime

    from lamplighter.domain.memory.memory import Memory
    from lamplighter.domain.services.cooldown import CooldownUse
    from lamplighter.domain.services.service import Service
    from lamplighter.domain.sessions.handoff import Finding, Handoff
    from lamplighter.domain.sessions.session import CheckResult, Session

CHECKPOINT: Final = "checkpoint.json"
"""The file with the progress of an engine that resumes, in its session's scratch directory."""

CHECKPOINT_LOCK: Final = "checkpoint.lock"
"""The lock file of a running engine that resumes; no second process can continue meanwhile."""


class Trait(StrEnum):
    """A capability of an engine.

    `model`: it calls a model, which takes turns and money. `tools`: its prompt lists
    the session tools. `mcp`: it calls them over MCP; otherwise over the gate's socket.
    `resumes`: after a crash it continues from its checkpoint.
    """

    MODEL = "model"
    TOOLS = "tools"
    MCP = "mcp"
    RESUMES = "resumes"


@dataclass(frozen=True, slots=True)
class ToolEndpoint:
    """The MCP address of a session's tools, and the token for it."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class InstalledProgram:
    """An external program that an engine needs: its path and version."""

    path: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInput:
    """Everything that an engine receives for a session.

    `system` is the tier's prompt, `injected` the text appended to it, `message` the request.
    `services` are those in scope, `declared` all services. `memories` are those in `injected`;
    `check_results` the last results of each check, newest first, by "service/check"; `uses` and
    `findings` the last of each service, newest first. `waiting` maps a service to the time since
    when it waits for a person. `known_fix` is the action that is known to repair a service now.
    `failed` are the checks that failed a moment ago, as "service/check", with the reason; `passed`
    the times when checks that fail by the schedule passed last. `commands` permits read-only
    commands. `gate` is the socket for action requests, `tools` the address of the session tools
    over MCP, `scratch` a directory of the session. `model`, `max_turns` and `budget_usd` (None: no
    limit) limit an engine with a model; `resumed` counts how often the session was resumed after a
    crash, `printed` the lines that it had printed by then.
    """

    session: Session
    system: str
    injected: str
    message: str
    services: tuple[Service, ...] = ()
    declared: tuple[Service, ...] = ()
    memories: tuple[Memory, ...] = ()
    check_results: Mapping[str, tuple[CheckResult, ...]] = field(default_factory=dict)
    uses: Mapping[str, tuple[CooldownUse, ...]] = field(default_factory=dict)
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    waiting: Mapping[str, datetime] = field(default_factory=dict)
    parked: Mapping[str, datetime] = field(default_factory=dict)
    known_fix: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, datetime] = field(default_factory=dict)
    commands: bool = False
    handoff: Handoff | None = None
    gate: str = ""
    tools: ToolEndpoint | None = None
    scratch: str = ""
    model: str = ""
    max_turns: int = 0
    budget_usd: float | None = None
    resumed: int = 0
    printed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start, never through a shell. `stdin` is its entire input.

    `files` are written into the session's scratch directory first, by their names, readable only by
    their owner. `alone` is the first signal it gets when its supervisor has died.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    alone: signal.Signals = signal.SIGINT


class Engine(Protocol):
    """Runs sessions."""

    @property
    def traits(self) -> frozenset[Trait]:
        """The capabilities of the engine."""

    @property
    def name(self) -> str:
        """The name of the engine in settings and rows."""

    def probe(self) -> str | None:
        """Return why the engine cannot run here; None if it is ready."""

    def command(self, task: EngineInput) -> Command:
        """Return the command that runs this session and prints stream-json."""


class EngineRun(Protocol):
    """A running session: `mark` identifies its processes, empty if they share another one's.

    `disk_full` states whether the disk of its output was full when it ended.
    """

    @property
    def mark(self) -> str:
        """The mark of its processes."""

    @property
    def disk_full(self) -> bool:
        """Whether no room was left for its output."""

    @property
    def ended(self) -> bool:
        """Whether it has ended, with all it started."""

    async def wait(self) -> int:
        """Wait for its end and return its exit status."""

    def interrupt(self) -> None:
        """Request that the session stops and reports its progress."""

    def terminate(self) -> None:
        """Request that the session ends."""

    def kill(self) -> None:
        """End it and all it started."""

    def last_words(self) -> list[str]:
        """Return the end of the session's standard error."""


@runtime_checkable
class ExternalEngine(Protocol):
    """An engine that is a program of others."""

    def installed(self) -> InstalledProgram | None:
        """Return the path and version of the program, if a usable one exists."""


def tool_names(
    engine: Engine, tier: int, *, reads: bool, commands: bool = False
) -> tuple[str, ...]:
    """Return the tools that a session by this engine has in its prompt."""
    from lamplighter.formats.tools import tools_for_tier

    if Trait.TOOLS not in engine.traits:
        return ()
    return tuple(each.name for each in tools_for_tier(tier, reads=reads, commands=commands))
