"""Verification for the command line: with or without a running server."""

from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Any

from lamplighter.config.settings import Settings
from lamplighter.formats import serialize
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile
from lamplighter.serve.verify.tools import build_tools


def verify(settings: Settings, ids: Sequence[int], *, dry_run: bool) -> list[dict[str, Any]]:
    """Verify memories now, or all that are due; raises NotFound, Conflict."""
    from lamplighter.usecases.verify import batch
    from lamplighter.usecases.verify.verify import result_as_json

    tools = build_tools(settings, ServicesFile(settings.services))

    def verified(db: Database) -> Awaitable[list[Any]]:
        here = home.context(settings, db)
        if not ids:
            return batch.verify_all(here, tools.sources, dry_run=dry_run)
        return batch.verify_some(here, tools.sources, tools.run_command, ids, dry_run=dry_run)

    return [result_as_json(each) for each in home.run(settings, verified)]


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

    attached = home.run(
        settings,
        lambda db: schedule.attach(
            home.context(settings, db),
            memory_id,
            services.last_good(),
            tools.refusal,
            service=service,
            check=check,
            command=command,
            cadence=timedelta(seconds=cadence),
        ),
    )
    return serialize.memory_check(attached)


def list_checks(settings: Settings, memory_id: int) -> list[dict[str, Any]]:
    """Return the checks that are attached to a memory."""
    from lamplighter.repository.verify import attached

    found = home.run(settings, lambda db: attached.of_memory(db, memory_id))
    return [serialize.memory_check(each) for each in found]


def detach(settings: Settings, memory_id: int, number: int) -> None:
    """Detach a check from a memory; raises NotFound."""
    from lamplighter.usecases.verify import schedule

    home.run(settings, lambda db: schedule.detach(home.context(settings, db), memory_id, number))
