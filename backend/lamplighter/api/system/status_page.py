"""The public status page: HTML without a script, cached, with only the chosen content."""

import asyncio
import html
import re
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from lamplighter.api.access.login_page import digest_of
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.responses import problem
from lamplighter.domain.limits import UPTIME_DAYS
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.system.public_status import (
    PublicIncident,
    PublicService,
    PublicState,
    PublicStatus,
    read_public_status,
)

CACHE_SECONDS: Final = 30.0
REQUESTS_A_SECOND: Final = 50
_PAGE: Final = Path(__file__).with_name("status.html").read_text(encoding="utf-8")
_STYLE: Final = _PAGE.partition("<style>")[2].partition("</style>")[0]
_HEADERS: Final = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{digest_of(_STYLE)}'; img-src data:; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": f"public, max-age={CACHE_SECONDS:.0f}",
    "X-Robots-Tag": "noindex",
}
_OK: Final = (PublicState.OPERATIONAL, PublicState.MAINTENANCE, PublicState.UNKNOWN)
UNAVAILABLE: Final = "There is no status page here."
AWAY: Final = "The status is not available at present. Try again in a moment."
BUSY: Final = "Too many requests. Try again in a moment."


class StatusCache:
    """The last rendered page, and the number of requests of this second by address."""

    def __init__(self) -> None:
        self._page, self._made = "", -CACHE_SECONDS
        self._second, self._counts = 0, Counter[str]()
        self._lock = asyncio.Lock()

    def is_busy(self, address: str) -> bool:
        """Count a request; return whether its address sent too many."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._counts = second, Counter()
        self._counts[address] += 1
        return self._counts[address] > REQUESTS_A_SECOND

    async def page(self, here: ApiContext) -> str:
        """Return the page; of many requests one reads the database."""
        async with self._lock:
            if time.monotonic() - self._made >= CACHE_SECONDS:
                shown = dict(here.active.status_services)
                found = await read_public_status(here.db, here.services(), shown, now=here.now())
                self._page, self._made = _render(found), time.monotonic()
            return self._page


@operation("GET", "/status", None, None, media="text/html", problems=(404, 429), below="")
async def show(request: Request, here: ApiContext) -> Response:
    """Read the public status page, if services are chosen for it."""
    if not here.active.status_services:
        raise HTTPException(404, UNAVAILABLE)
    state = request.app.state
    if not hasattr(state, "status_cache"):
        state.status_cache = StatusCache()
    cache: StatusCache = state.status_cache
    if cache.is_busy(request.client.host if request.client else ""):
        return problem(429, BUSY, headers={"Retry-After": "1"})
    try:
        return HTMLResponse(await cache.page(here), headers=_HEADERS)
    except (Error, TimeoutError):  # the error message names local files
        return problem(503, AWAY, headers={"Retry-After": "5"})


def _render(status: PublicStatus) -> str:
    """Fill the page; every value is escaped."""
    parts = {
        "title": _title(status),
        "at": _time(status.at),
        "services": "".join(map(_service, status.services)),
        "incidents": f"<ul>{''.join(map(_incident, status.incidents))}</ul>"
        if status.incidents
        else "<p>None.</p>",
    }
    # in one pass: a name may contain a placeholder
    return re.sub(r"\{(title|at|services|incidents)\}", lambda place: parts[place[1]], _PAGE)


def _title(found: PublicStatus) -> str:
    states = [each.state for each in found.services]
    if bad := sum(each not in _OK for each in states):
        return f"{_share(bad, len(states))} affected"
    if checked := sum(each is not PublicState.UNKNOWN for each in states):
        if checked == len(states):
            return "All services are operational"
        return f"{_share(len(states) - checked, len(states))} not checked at present"
    return "No service is checked at present"


def _share(some: int, total: int) -> str:
    if some == total:
        return "The service is" if total == 1 else "All services are"
    return f"{some} of {total} services {'is' if some == 1 else 'are'}"


def _service(each: PublicService) -> str:
    uptime = ", ".join(
        f"{'24 h' if days == 1 else f'{days} days'}: {each.uptime[name]:g} %"
        for name, days in UPTIME_DAYS.items()
        if each.uptime[name] is not None
    )
    state = html.escape(each.state)
    line = f"Uptime without maintenance {uptime}" if uptime else "No uptime yet"
    return (
        f'<li><strong>{html.escape(each.name)}</strong><span data-state="{state}">{state}</span>'
        f"<small>{line}</small></li>"
    )


def _incident(each: PublicIncident) -> str:
    names = html.escape(", ".join(each.names))
    end = f"to {_time(each.resolved_at)}" if each.resolved_at else "ongoing"
    state = "Resolved" if each.resolved_at else PublicState.DOWN
    word = "Resolved" if each.resolved_at else "Open"
    return (
        f'<li><strong>{names}</strong><span data-state="{state}">{word}</span>'
        f"<small>{_time(each.started_at)} {end}</small></li>"
    )


def _time(at: datetime) -> str:
    return f"{at:%b} {at.day}, {at:%H:%M} UTC"
