"""The health of the memory for the command line: measured in this process."""

from typing import Any

from lamplighter.config.settings import Settings
from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.formats.upkeep.memory_health import health_as_json
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.health import measure as health


def measure(settings: Settings, *, compare: bool) -> dict[str, Any]:
    """Measure now, and return the measurement and the trend as JSON."""
    names = ServicesFile(settings.services).last_good().folded_names

    async def work(db: Database) -> dict[str, Any]:
        here = home.context(settings, db)
        trigger = MeasurementTrigger.OPERATOR
        await health.measure(here, trigger=trigger, names=names, compare=compare)
        found = await health.read(db)
        return health_as_json(found.newest, found.trend)

    return home.run(settings, work)


def read(settings: Settings) -> dict[str, Any]:
    """Return the last measurement and the trend as JSON."""

    async def work(db: Database) -> dict[str, Any]:
        found = await health.read(db)
        return health_as_json(found.newest, found.trend)

    return home.run(settings, work)
