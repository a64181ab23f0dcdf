"""The context in which a supervisor runs sessions."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.service import Services
from lamplighter.engines import Engine, ToolEndpoint
from lamplighter.supervisor.checks.process import CheckProcesses
from lamplighter.supervisor.clock_watch import ClockWatch
from lamplighter.supervisor.run.files import FileMasker, SessionFiles
from lamplighter.supervisor.run.limits import Limits
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.context import Context
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.sessions.halt import HaltControl

OpenToolEndpoint = Callable[[Toolbox], AbstractAsyncContextManager[ToolEndpoint]]
"""Opens a session's tools over MCP, for as long as the context lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext(Context):
    """The context in which a supervisor runs sessions.

    `current` reads services.yaml at that moment; `readable` are the files that sessions may read.
    Edits of `notebook` are read before each prompt; None turns it off. Checks of the gate and of
    known fixes run in `checks`, if these processes run already; None starts a process for them.
    """

    active: Configuration = field(default_factory=Configuration)
    files: SessionFiles
    engines: Mapping[str, Engine]
    sockets: Path
    url: str = ""
    epoch: int = 0
    limits: Limits = field(default_factory=Limits)
    timepiece: ClockWatch = field(default_factory=ClockWatch)
    open_tools: OpenToolEndpoint | None = None
    halt_control: HaltControl = field(default_factory=HaltControl)
    current: Callable[[], Services] | None = None
    cleaning: FileMasker = field(default_factory=FileMasker)
    readable: Readable = field(default_factory=Readable)
    notebook: NotebookContext | None = None
    checks: CheckProcesses | None = None
