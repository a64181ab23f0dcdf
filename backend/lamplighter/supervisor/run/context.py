"""The workshop: what every session needs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from lamplighter.domain.clients.tool_hooks import Hooks
from lamplighter.domain.relate import Lexicon, builtin_lexicon
from lamplighter.domain.relate.reconcile import EchoPolicy
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.cooldown import RESET_AFTER
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.cost import MAX_TURNS, SpendingCaps
from lamplighter.domain.sessions.session import MAX_TIER
from lamplighter.engines import Engine, ToolEndpoint
from lamplighter.repository import Database
from lamplighter.supervisor.actions.gate import APPROVAL_SECONDS
from lamplighter.supervisor.clock_watch import ClockWatch
from lamplighter.supervisor.run.cleaning import FileMasker
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.supervisor.run.limits import Limits
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.shell import Shell
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.memory.journal import TRASH_RETENTION
from lamplighter.usecases.memory.knowledge import WINDOW
from lamplighter.usecases.services import flapping
from lamplighter.usecases.sessions.halt import HaltControl
from lamplighter.usecases.sessions.parking import MAX_PARKED

OpenToolEndpoint = Callable[[Toolbox], AbstractAsyncContextManager[ToolEndpoint]]
"""Opens a session's tools over MCP, for as long as the context lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """What every session needs: where it is kept, who runs it, and by which rules.

    `models` names the model of each tier; `caps` and `max_turns` bound what it may take,
    `parked` how many sessions wait for a person at a time.
    `current` reads services.yaml as it is now; `readable` are the files that sessions may read,
    `shell` says which tiers may give commands.
    """

    db: Database
    files: SessionFiles
    engines: Mapping[str, Engine]
    redactor: Redactor
    now: Callable[[], datetime]
    sockets: Path
    url: str = ""
    epoch: int = 0
    budget: int = 2_000
    max_tier: int = MAX_TIER
    lexicon: Lexicon = field(default_factory=builtin_lexicon)
    echo: EchoPolicy = EchoPolicy.COUNT
    limits: Limits = field(default_factory=Limits)
    timepiece: ClockWatch = field(default_factory=ClockWatch)
    models: Mapping[int, str] = field(default_factory=dict)
    caps: SpendingCaps = field(default_factory=SpendingCaps)
    max_turns: int = MAX_TURNS
    hooks: Hooks = field(default_factory=Hooks)
    window: timedelta = WINDOW
    trash_kept: timedelta | None = TRASH_RETENTION
    doors: OpenToolEndpoint | None = None
    brake: HaltControl = field(default_factory=HaltControl)
    approval_timeout: float = APPROVAL_SECONDS
    reset_after: timedelta = RESET_AFTER
    flap_limit: int = flapping.LIMIT
    parked: int = MAX_PARKED
    current: Callable[[], Services] | None = None
    cleaning: FileMasker = field(default_factory=FileMasker)
    readable: Readable = field(default_factory=Readable)
    shell: Shell = field(default_factory=Shell)
