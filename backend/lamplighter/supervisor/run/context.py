"""The workshop: what every session needs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from lamplighter.domain.clients.tool_hooks import Hooks
from lamplighter.domain.relate import Lexicon, built_in
from lamplighter.domain.relate.reconcile import Echo
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.cooldown import RESET_AFTER
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.cost import MAX_TURNS, Caps
from lamplighter.domain.sessions.session import MAX_TIER
from lamplighter.engines import Engine, ToolDoor
from lamplighter.repository import Database
from lamplighter.supervisor.actions.gate import APPROVAL_SECONDS
from lamplighter.supervisor.clock_watch import Timepiece
from lamplighter.supervisor.run.cleaning import Cleaning
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.supervisor.run.limits import Limits
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.shell import Shell
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.memory.journal import TRASH_KEPT
from lamplighter.usecases.memory.knowledge import WINDOW
from lamplighter.usecases.services import flapping
from lamplighter.usecases.sessions.halt import Brake
from lamplighter.usecases.sessions.parking import PARKED

Doors = Callable[[Toolbox], AbstractAsyncContextManager[ToolDoor]]
"""Opens a session's tools over MCP, for as long as the context lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
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
    lexicon: Lexicon = field(default_factory=built_in)
    echo: Echo = Echo.COUNT
    limits: Limits = field(default_factory=Limits)
    timepiece: Timepiece = field(default_factory=Timepiece)
    models: Mapping[int, str] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    max_turns: int = MAX_TURNS
    hooks: Hooks = field(default_factory=Hooks)
    window: timedelta = WINDOW
    trash_kept: timedelta | None = TRASH_KEPT
    doors: Doors | None = None
    brake: Brake = field(default_factory=Brake)
    approval_timeout: float = APPROVAL_SECONDS
    reset_after: timedelta = RESET_AFTER
    flap_limit: int = flapping.LIMIT
    parked: int = PARKED
    current: Callable[[], Services] | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    readable: Readable = field(default_factory=Readable)
    shell: Shell = field(default_factory=Shell)
