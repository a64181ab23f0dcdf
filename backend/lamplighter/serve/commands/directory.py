"""Memory as code for the command line: with or without a running server."""

import asyncio
from pathlib import Path
from typing import Any, Final

from lamplighter import clock
from lamplighter.config import lexicon
from lamplighter.config.settings import Settings
from lamplighter.domain.directory.merge import Side
from lamplighter.notebook.directory import MemoryDirectory
from lamplighter.repository import Database
from lamplighter.serve import home, home_lock
from lamplighter.serve.commands.revoke import prompt_context
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.directory import apply as applying
from lamplighter.usecases.directory.export import DirectoryExport, export_directory
from lamplighter.usecases.directory.lint import LintContext, LintReport, lint

BUSY: Final = "An apply or export of {} is running. Try again when it has finished."


def export(settings: Settings, directory: Path, *, project: str | None) -> DirectoryExport:
    """Write the files of the memories; raises Conflict, Unavailable."""
    tree = MemoryDirectory(directory, settings.home)

    async def work(db: Database) -> DirectoryExport:
        with home_lock.alone(tree.lock, BUSY.format(directory)):
            return await export_directory(db, tree, project=project)

    return home.run(settings, work)


def apply(
    settings: Settings, directory: Path, *, prefer: Side | None, dry_run: bool
) -> dict[str, Any]:
    """Apply a directory, or plan that; raises Unavailable."""
    tree = MemoryDirectory(directory, settings.home)

    async def work(db: Database) -> applying.DirectoryApply:
        here = prompt_context(settings, db)
        if dry_run:
            return await applying.plan(here, tree, prefer=prefer)
        with home_lock.alone(tree.lock, BUSY.format(directory)):
            return await applying.apply(here, tree, prefer=prefer)

    return home.run(settings, work).as_json()


def check(settings: Settings, directory: Path) -> LintReport:
    """Check a directory without a database; raises Unavailable."""
    here = LintContext(
        lexicon=lexicon.active_lexicon(settings),
        services=ServicesFile(settings.services).last_good(),
        redact=home.secrets(settings),
        budget=settings.memory_budget,
        now=clock.now(),
    )
    return asyncio.run(lint(here, MemoryDirectory(directory)))
