"""Acts on services for the command line: with or without a running server."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from lamplighter.config.settings import Settings
from lamplighter.domain.services.checks.silence import Silence
from lamplighter.domain.services.service import Services
from lamplighter.serve import home
from lamplighter.serve.commands import operator_name
from lamplighter.serve.local import web_url
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import push_checks, silence

T = TypeVar("T")


def create_push_key(settings: Settings, service: str, check: str) -> tuple[str, str]:
    """Return a new key of a push check and its URL; raises NotFound."""

    key = _run(settings, lambda here, known: push_checks.create_key(here, known, service, check))
    return key, f"{web_url(settings)}/push/{key}"


def pause(settings: Settings, service: str, reason: str, *, seconds: float | None) -> Silence:
    """Pause a service, for some seconds or until it is resumed; raises NotFound."""

    async def work(here: Context, services: Services) -> Silence:
        until = None if seconds is None else here.now() + timedelta(seconds=seconds)
        return await silence.pause(here, services, service, reason, by=operator_name(), until=until)

    return _run(settings, work)


def resume(settings: Settings, service: str) -> Silence | None:
    """Resume a service, and return the silence that remains; raises NotFound and Conflict."""
    return _run(
        settings, lambda here, known: silence.resume(here, known, service, by=operator_name())
    )


def _run(settings: Settings, work: Callable[[Context, Services], Awaitable[T]]) -> T:
    services = ServicesFile(settings.services).load()
    return home.run(settings, lambda db: work(home.context(settings, db), services))
