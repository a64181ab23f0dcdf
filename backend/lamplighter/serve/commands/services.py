"""Acts on services for the command line: with or without a running server."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from lamplighter.config.settings import Settings
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.local.address import web_url
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import push_checks

T = TypeVar("T")


def create_push_key(settings: Settings, service: str, check: str) -> tuple[str, str]:
    """Return a new key of a push check and its URL; raises NotFound."""

    async def create(here: Context, services: Services) -> str:
        return await push_checks.create_key(here, services, service, check)

    key = _run(settings, create)
    return key, f"{web_url(settings)}/push/{key}"


def _run(settings: Settings, work: Callable[[Context, Services], Awaitable[T]]) -> T:
    services = ServicesFile(settings.services).load()

    async def with_context(db: Database) -> T:
        return await work(home.context(settings, db), services)

    return home.run(settings, with_context)
