"""The declared services for the command line: with or without a running server."""

from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.domain.services.checks.push import PushSignal
from lamplighter.formats.serialize import format_moment, writer
from lamplighter.repository import reading
from lamplighter.repository.services import pushes
from lamplighter.usecases.services import push_checks
from lamplighter.usecases.system import overview

if TYPE_CHECKING:
    from lamplighter.serve.local.queries import QueryContext


async def list_signals(
    here: "QueryContext", *, service: str, check: str, limit: int
) -> dict[str, Any]:
    """Return the newest signals of a push check; raises NotFound."""
    services = here.services.last_good()
    found, declared = push_checks.find_push_check(services, service, check)
    page = await pushes.page(here.db, found.name, declared.name, limit=limit)
    return {"items": [writer(PushSignal)(each) for each in page.items]}


async def list_services(
    here: "QueryContext", *, group: str | None, tag: str | None
) -> dict[str, Any]:
    """Return the services with their states, of a group and with a tag."""
    chosen = here.services.last_good().select(group=group, tag=tag)
    async with reading(here.db):
        found = await overview.service_conditions(here.db, chosen, now=clock.now())
    return {
        "items": [
            {
                "name": each.service.name,
                "state": each.state,
                "since": format_moment(each.changed_at),
                "detail": each.detail,
                "group": each.service.group,
                "tags": list(each.service.tags),
                "silence": None
                if each.silence is None
                else {
                    "kind": each.silence.kind,
                    "until": format_moment(each.silence.until),
                    "reason": each.silence.reason,
                },
            }
            for each in found
        ]
    }
