"""Verification for the command line: with or without a running server."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from lamplighter.config.settings import Settings
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile
from lamplighter.serve.verify.tools import build_tools


def verify(settings: Settings, ids: Sequence[int], *, dry_run: bool) -> list[dict[str, Any]]:
    """Verify memories now, or all that are due; raises NotFound, Conflict."""
    from lamplighter.usecases.verify import batch
    from lamplighter.usecases.verify.verify import result_as_json

    tools = build_tools(settings, ServicesFile(settings.services))

    async def work(db: Database) -> list[dict[str, Any]]:
        here = home.context(settings, db)
        if not ids:
            found = await batch.verify_all(here, tools.sources, dry_run=dry_run)
        else:
            found = await batch.verify_some(
                here, tools.sources, tools.run_command, ids, dry_run=dry_run
            )
        return [result_as_json(each) for each in found]

    return home.run(settings, work)


def attach(
    settings: Settings,
    memory_id: int,
    *,
    service: str | None,
    check: str | None,
    command: str | None,
    cadence: float,
) -> dict[str, Any]:
    """Attach a check to a memory; raises Invalid, NotFound, Conflict."""
    from lamplighter.usecases.verify import schedule

    services = ServicesFile(settings.services)
    tools = build_tools(settings, services)

    async def work(db: Database) -> dict[str, Any]:
        attached_check = await schedule.attach(
            home.context(settings, db),
            memory_id,
            services.last_good(),
            tools.refusal,
            service=service,
            check=check,
            command=command,
            cadence=timedelta(seconds=cadence),
        )
        return serialize.memory_check(attached_check)

    return home.run(settings, work)


def list_checks(settings: Settings, memory_id: int) -> list[dict[str, Any]]:
    """Return the checks that are attached to a memory."""
    from lamplighter.repository.verify import attached

    async def work(db: Database) -> list[dict[str, Any]]:
        async with reading(db):
            return [
                serialize.memory_check(each) for each in await attached.of_memory(db, memory_id)
            ]

    return home.run(settings, work)


def detach(settings: Settings, memory_id: int, number: int) -> None:
    """Detach a check from a memory; raises NotFound."""
    from lamplighter.usecases.verify import schedule

    home.run(settings, lambda db: schedule.detach(home.context(settings, db), memory_id, number))
