"""Silence: services that are paused or in a maintenance window, and their pauses."""

from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, require
from lamplighter.domain.learning.signature import is_own_fault
from lamplighter.domain.services.checks.silence import (
    MAX_REASON_CHARS,
    Silence,
    dependents_of_planned_work,
    find_silence,
    silences_of,
    with_expected_failures,
)
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Services
from lamplighter.domain.text import format_time, one_line, shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.access.journal import UNDO, JournalEntry
from lamplighter.repository.services import events, pauses, series
from lamplighter.usecases.access.recording import recording
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.journal import undoable

SOURCE: Final = "silence"
PAUSE: Final = "pause"
UNPAUSE: Final = "unpause"
"""The acts of pausing and resuming a service; both can be undone."""


async def silences(db: Database, services: Services, *, at: datetime) -> dict[str, Silence]:
    """Return the silences of declared services at a time, by name.

    Includes services that fail because of planned work on a dependency.
    """
    own = silences_of(services, await pauses.covering(db, since=at), at=at)
    return with_expected_failures(
        services, own, await series.failing(db), is_own=is_own_fault, at=at
    )


async def services_of_round(
    db: Database, services: Services, *, at: datetime
) -> tuple[str, ...] | None:
    """Return the services to check in a round: those without planned work; None for all."""
    own = silences_of(services, await pauses.covering(db, since=at), at=at)
    failing = await series.failing(db)
    left_out = {
        **own,
        **dependents_of_planned_work(services, own, failing, is_own=is_own_fault, at=at),
    }
    return tuple(each.name for each in services if each.name not in left_out) if left_out else None


async def pause(
    here: Context,
    services: Services,
    name: str,
    reason: str,
    *,
    by: str,
    until: datetime | None = None,
) -> Silence:
    """Pause a service; the new pause replaces an earlier one. Raises NotFound and Invalid."""
    service = require(services.find(name), f"Service {name!r} not found.")
    now = here.now()
    if until is not None and until <= now:
        raise Invalid(InvalidField("until", "is not in the future"))
    short_reason = shorten(one_line(here.redact(reason)), MAX_REASON_CHARS)
    subject = f"{service.name} was paused"
    async with recording(here.db, PAUSE, now=now, service=service.name, subject=subject) as pausing:
        pausing.did()
        await pauses.end(here.db, service.name, now=now)
        stored = await pauses.insert(
            here.db, service.name, short_reason, by=by, until=until, now=now
        )
        end = f" until {format_time(until, now)}" if until else ""
        text = (
            f"{service.name} was paused by {by}{end}{f': {short_reason}' if short_reason else ''}."
        )
        await events.insert(here.db, Level.INFO, text, service=service.name, source=SOURCE, now=now)
    found = find_silence((), [stored], declared=service.paused, at=now)
    assert found is not None
    return found


async def resume(here: Context, services: Services, name: str, *, by: str) -> Silence | None:
    """End the pause of a service; return the silence that remains.

    Raises NotFound, and Conflict if the service is paused in services.yaml.
    """
    service = require(services.find(name), f"Service {name!r} not found.")
    now = here.now()
    if service.paused:
        raise Conflict(f"{service.name} is paused in services.yaml. Remove its key paused there.")
    subject = f"{service.name} was resumed"
    async with recording(here.db, UNPAUSE, now=now, service=service.name, subject=subject) as act:
        if await pauses.end(here.db, service.name, now=now):
            act.did()
            text = f"{service.name} was resumed by {by}."
            await events.insert(
                here.db, Level.INFO, text, service=service.name, source=SOURCE, now=now
            )
    covering = await pauses.covering(here.db, since=now)
    return silences_of([service], covering, at=now).get(service.name)


async def revert(here: Context, act_id: int, *, by: str) -> tuple[int, JournalEntry]:
    """Undo a pause or a resume of a service: restore its previous pause.

    Raises NotFound, and Conflict if it was paused or resumed later.
    """
    db, now = here.db, here.now()
    async with writing(db):
        done = await undoable(db, act_id)
        service, at = done.service or "", done.created_at
        current = [each for each in await pauses.covering(db, since=now) if each.service == service]
        if [each.began_at for each in current] != ([at] if done.action == PAUSE else []):
            raise Conflict(f"{service} was paused or resumed since. Change its pause instead.")
        subject = f"Reverted: {done.subject}"
        about = {"undoes": act_id, "service": service, "subject": subject}
        async with recording(db, UNDO, now=now, **about) as act:
            act.did()
            await pauses.end(db, service, now=now)
            await pauses.reopen(db, service, ended_at=at)
            text = f"{by} undid: {done.subject}."
            await events.insert(db, Level.INFO, text, service=service, source=SOURCE, now=now)
    return act.id, done
