"""Webhooks: receive alerts of external monitors, and list them with their deliveries."""

import hmac
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.common_shapes import Name, PageQuery, ShortText, page_of, public_shape
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
from lamplighter.domain.access.access import WEBHOOKS, Caller
from lamplighter.domain.services.alert import AlertIncident
from lamplighter.domain.services.alert import AlertState as State
from lamplighter.domain.sessions.session import SessionRequest
from lamplighter.formats import alerts as payloads
from lamplighter.formats import serialize
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.services import alerts
from lamplighter.repository.services.alerts import AlertFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.services import alert
from lamplighter.usecases.services.alert import AlertContext, AlertResult

WEBHOOK_PREFIX: Final = "/api/v1/webhooks/"
HEADER: Final = "x-lamplighter-token"
MAX_BYTES: Final = 256 * 1024
CLOSED: Final = "Webhooks are off. Set LAMPLIGHTER_WEBHOOK_TOKEN to receive alerts."

AlertState = Literal["firing", "resolved"]


@public_shape(AlertIncident, ("state",))
class AlertOut(Struct):
    """One incident that a monitor reported, and its session request."""


class DeliveredAlertOut(AlertOut):
    """An alert of a delivery; `new` is false for a repeated alert.

    `incident_id` is the open incident of its service, `page` its address in the app.
    """

    new: bool
    incident_id: int | None
    page: str | None


@public_shape(SessionRequest, without=("prompt",))
class AlertRequestOut(Struct):
    """The session request of an alert, without the prompt: the sender is not an operator."""


class DeliveryOut(Struct):
    """The result of a delivery: the request of its first alert, and each alert."""

    request: AlertRequestOut | None
    alerts: list[DeliveredAlertOut]


AlertPage = page_of(AlertOut, "A page of alerts, newest first.")


class AlertQuery(PageQuery):
    """Filters for alerts."""

    state: AlertState | None = None
    source: ShortText | None = None
    service: Name | None = None


@operation(
    "POST",
    "/webhooks/{source}",
    WEBHOOKS,
    DeliveryOut,
    status=202,
    problems=(400, 413, 503),
)
async def receive_alerts(request: Request) -> Response:
    """Receive alerts from a monitor."""
    here, source = api_context(request), payloads.parse_source(request.path_params["source"])
    delivery = payloads.parse(source, await _payload(request))
    context = AlertContext(
        db=here.db,
        now=here.now,
        redact=here.redact,
        active=here.active,
        services=here.services(),
    )
    taken = await alert.ingest_delivery(context, source, delivery)
    return answer(_delivery_out(taken), 202 if any(each.new for each in taken) else 200)


@operation("GET", "/alerts", "sessions:read", AlertPage)
async def index(request: Request, query: AlertQuery) -> Response:
    """List alerts, newest first."""
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        names = here.services().names
        service = query.service and await service_name(here.db, query.service, names)
        chosen = AlertFilter(
            state=None if query.state is None else State(query.state),
            source=query.source,
            service=service,
        )
        found = await alerts.page(here.db, chosen, limit=query.limit, position=position)
    return page(request, [serialize.alert(each) for each in found.items], found.position, seq)


def request_token(headers: Headers) -> str:
    """Return the token that a monitor shows, in whichever of the two headers it can."""
    scheme, _, words = headers.get("authorization", "").partition(" ")
    return words.strip() if scheme.lower() == "bearer" else headers.get(HEADER, "").strip()


def monitor(words: str, token: str) -> Caller | None:
    """Return the monitor with the configured token, in constant time."""
    if not token or not hmac.compare_digest(_bytes(words), _bytes(token)):
        return None
    return Caller(kind="token", id=0, name="webhook", scopes=(WEBHOOKS,))


def _bytes(words: str) -> bytes:
    return words.encode("utf-8", "surrogateescape")


async def _payload(request: Request) -> Mapping[str, Any]:
    """Read a JSON object, whatever its declared content type."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise HTTPException(413, f"The body is larger than {MAX_BYTES:,} bytes.")
    return params.decode_object(bytes(body))


def _delivery_out(results: list[AlertResult]) -> dict[str, Any]:
    first = next((each.request for each in results if each.request), None)
    request = serialize.request(first) if first else None
    if request:
        del request["prompt"]
    return {
        "request": request,
        "alerts": [
            {
                **serialize.alert(each.incident),
                "new": each.new,
                "incident_id": each.incident_id,
                "page": f"/incidents/{each.incident_id}" if each.incident_id else None,
            }
            for each in results
        ],
    }


def is_closed(here: ApiContext, caller: Caller | None) -> bool:
    """Return whether alerts are disabled; a caller without permission is denied instead."""
    return not here.active.webhook_token and (caller is None or caller.may(WEBHOOKS))
