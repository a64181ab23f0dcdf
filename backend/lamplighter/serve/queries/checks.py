"""The results of scheduled checks for the command line: with or without a running server."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.domain.errors import NotFound
from lamplighter.domain.services.series import SeriesResolution
from lamplighter.repository import reading
from lamplighter.usecases.services import check_history
from lamplighter.usecases.services.check_history import SeriesSelection

if TYPE_CHECKING:
    from lamplighter.serve.local.queries import QueryContext


async def read_series(
    here: "QueryContext",
    *,
    service: str,
    check: str | None,
    seconds: float,
    resolution: str | None,
    limit: int,
) -> dict[str, Any]:
    """Return the series of a service's checks for the last `seconds`; raises NotFound."""
    declared = here.services.last_good().find(service)
    if declared is None:
        raise NotFound(f"Service {service!r} not found in {here.settings.services}.")
    now = clock.now()
    selection = SeriesSelection(
        check=check,
        start=now - timedelta(seconds=seconds),
        resolution=SeriesResolution(resolution) if resolution else None,
        limit=limit,
    )
    async with reading(here.db):
        return await check_history.read_series(here.db, declared, selection, now=now)
