"""Who thinks: what runs a session, and the stream it prints.

An engine says whether it is ready and which command runs a session. Running
that command, following what it prints and ending it is the same for all.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

if TYPE_CHECKING:  # the processes of engines import this package, and need none of these
    from collections.abc import Mapping
    from datetime import datetime

    from lamplighter.domain.memory.memory import Memory
    from lamplighter.domain.services.cooldown import CooldownUse
    from lamplighter.domain.services.service import Service
    from lamplighter.domain.sessions.handoff import Finding, Handoff
    from lamplighter.domain.sessions.marker_results import CheckResult
    from lamplighter.domain.sessions.session import Session

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
    """A program of others that an engine needs: where it is, and which version."""

    path: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInput:
    """All that an engine is given for one session.

    `system` is the tier's prompt, `injected` what is appended to it, `message`
    what is asked. `services` are those in scope, `declared` all services.
    `memories` are those in `injected`; `check_results` the last results of each check,
    newest first, by "service/check"; `uses` and `findings` the last of each
    service, newest first. `waiting` tells since when a service waits for a
    person. `known_fix` is the action that is known to repair a service now. `failed` are the
    checks that failed a moment ago, as "service/check", with the reason; `passed` says
    when checks that fail by the schedule passed last. `commands` says whether
    the session may run commands that only read. `gate` is the socket that a session asks to act
    by, `tools` where its tools are over MCP, `scratch` a directory that is its own. `model`,
    `max_turns` and `budget_usd` (None: no limit) bound an engine that has a model; `resumed` says
    how often it went on after a crash, `printed` how many lines it had printed then.
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
    """What to start: never through a shell. `stdin` is all that it can read.

    `files` are written into the session's scratch directory first, by their names,
    for its owner's eyes only. `alone` is the first signal it gets when its supervisor is gone.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    alone: signal.Signals = signal.SIGINT


class Engine(Protocol):
    """What runs a session."""

    @property
    def traits(self) -> frozenset[Trait]:
        """What it has that others have not."""

    @property
    def name(self) -> str:
        """The word for it in settings and rows."""

    def probe(self) -> str | None:
        """Say why it cannot run here; None when it is ready."""

    def command(self, task: EngineInput) -> Command:
        """Return the command that runs this session and prints stream-json."""


class EngineRun(Protocol):
    """A session that runs: `mark` is on its processes, empty where it has none of its own.

    `disk_full` says whether the disk of its output was full when it ended.
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
        """Ask it to stop and to say how far it came."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it and all it started."""

    def last_words(self) -> list[str]:
        """Return the end of what it wrote to its standard error."""


@runtime_checkable
class ExternalEngine(Protocol):
    """An engine that is a program of others."""

    def installed(self) -> InstalledProgram | None:
        """Return where it is and which version, where there is one that can be run."""


def tool_names(
    engine: Engine, tier: int, *, reads: bool, commands: bool = False
) -> tuple[str, ...]:
    """Return the tools that a session by this engine has in its prompt."""
    from lamplighter.formats.tools import tools_for_tier

    if Trait.TOOLS not in engine.traits:
        return ()
    return tuple(each.name for each in tools_for_tier(tier, reads=reads, commands=commands))
