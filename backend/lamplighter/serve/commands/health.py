"""The health of the memory for the command line: measured in this process."""

from typing import Any

from lamplighter.config.settings import Settings
from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.formats.upkeep.memory_health import health_as_json
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.health import measure as health


def read(settings: Settings, *, measure: bool, compare: bool) -> dict[str, Any]:
    """Return the last measurement, or a new one, and the trend as JSON."""
    names = ServicesFile(settings.services).last_good().folded_names if measure else frozenset()

    async def work(db: Database) -> dict[str, Any]:
        if measure:
            here, trigger = home.context(settings, db), MeasurementTrigger.OPERATOR
            await health.measure(here, trigger=trigger, names=names, compare=compare)
        found = await health.read(db)
        return health_as_json(found.newest, found.trend)

    return home.run(settings, work)
