"""The organizer for the command line: it runs in this process, beside a running server."""

from collections.abc import Callable
from typing import Any

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.clients.agent import silent_agents
from lamplighter.formats.upkeep import organizer as as_json
from lamplighter.repository import Database, reading
from lamplighter.repository.organize import runs
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile
from lamplighter.serve.verify.tools import build_tools
from lamplighter.usecases.organize import run as organizer
from lamplighter.usecases.organize import view

Progress = Callable[[str, int, int], None]


def organize(settings: Settings, *, dry_run: bool, progress: Progress) -> dict[str, Any]:
    """Run the organizer and return the run as JSON; with `dry_run` the expected effect."""
    services = ServicesFile(settings.services)
    names, silent = services.last_good().folded_names, silent_agents(settings.agents)

    async def work(db: Database) -> dict[str, Any]:
        here = home.context(settings, db)
        if dry_run:
            asks = bool(settings.organize_models)
            found = await organizer.preview(
                here, names=names, progress=progress, silent=silent, asks=asks
            )
            return {"dry_run": True, "counts": found.counts, "examples": found.examples}
        done = await organizer.organize(
            here,
            trigger="operator",
            names=names,
            progress=progress,
            selector=home.selector(settings),
            silent=silent,
            sources=build_tools(settings, services).sources,
        )
        return {"dry_run": False, **as_json.run(done)}

    return home.run(settings, work)


def list_runs(settings: Settings, *, limit: int) -> list[dict[str, Any]]:
    """Return the newest runs as JSON."""

    async def read(db: Database) -> list[dict[str, Any]]:
        async with reading(db):
            found = (await runs.page(db, limit=limit)).items
            undone = await view.undone(db, found)
        return [as_json.run(each, undone.get(each.id)) for each in found]

    return home.run(settings, read)


def show(settings: Settings, number: int) -> dict[str, Any]:
    """Return a run with its changes as JSON; raises NotFound."""

    found = home.run(settings, lambda db: view.diff(db, number))
    return as_json.diff(found.run, found.undone_by, found.replacements)


def undo(settings: Settings, number: int) -> int:
    """Undo a run and return how many rows are as before; raises NotFound, Conflict."""

    return home.run(settings, lambda db: view.undo(db, number, now=clock.now())).rows
