"""The workshop that the settings describe."""

from datetime import timedelta
from pathlib import Path
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.relate import Lexicon
from lamplighter.domain.relate.reconcile import EchoPolicy
from lamplighter.mcp.session_server import SessionServer
from lamplighter.repository import Database
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.serve import home
from lamplighter.serve.local.address import run_directory, web_url
from lamplighter.supervisor.lease import SUFFIX
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.supervisor.run.limits import Limits
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.shell import Shell

MOUNTED_SECRETS: Final = Path("/run/secrets")
"""Where a container is given what nobody else is to know."""


def build_session_context(
    settings: Settings,
    db: Database,
    words: Lexicon,
    doors: SessionServer,
    services: home.ServicesFile,
) -> SessionContext:
    """Return what every session needs."""
    files = readable(settings)
    return SessionContext(
        db=db,
        files=SessionFiles(settings.home / home.SESSIONS),
        engines={engine.name: engine for engine in home.engines(settings)},
        redactor=home.secrets(settings),
        now=clock.now,
        sockets=run_directory(settings.home),
        url=web_url(settings),
        budget=settings.memory_budget,
        max_tier=settings.max_tier,
        brake=home.brake(settings),
        lexicon=words,
        echo=EchoPolicy(settings.echo),
        approval_timeout=settings.approval_timeout,
        reset_after=timedelta(seconds=settings.cooldown_reset),
        flap_limit=settings.flap_limit,
        parked=settings.parked_sessions,
        current=services.load,
        models=home.models(settings),
        doors=doors.open,
        readable=files,
        shell=Shell(tiers=settings.shell_tiers, roots=files.roots, private=files.private),
        caps=home.caps(settings),
        max_turns=settings.max_turns,
        hooks=settings.hooks,
        window=timedelta(seconds=settings.dedup_window),
        trash_kept=home.trash_retention(settings),
        limits=Limits(
            total=settings.session_timeout,
            idle=settings.idle_timeout,
            markers=settings.max_markers,
        ),
    )


def readable(settings: Settings) -> Readable:
    """Return which files sessions may read; what we live by is not among them."""
    private = [settings.home, settings.services, MOUNTED_SECRETS]
    if not is_postgres(settings.database_url):
        file = file_of(settings.database_url)
        private += [file, *(Path(f"{file}{end}") for end in ("-wal", "-shm", "-journal", SUFFIX))]
    return Readable(roots=settings.read_roots, private=tuple(private))
