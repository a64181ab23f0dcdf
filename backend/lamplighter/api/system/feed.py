"""The change feed, in pages or as server-sent events."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lamplighter import __version__
from lamplighter.api.access.callers import CHECK_SECONDS, AdmissionCheck, callers_of
from lamplighter.api.context import ApiContext
from lamplighter.api.hub import as_json, frame
from lamplighter.api.op import operation
from lamplighter.api.system import shapes
from lamplighter.domain.access.access import Caller
from lamplighter.repository import reading
from lamplighter.repository.store import changes
from lamplighter.repository.store.driver import Error

logger = logging.getLogger(__name__)

PING_SECONDS: Final = 15
SEND_SECONDS: Final = 10.0
DISCONNECT_SECONDS: Final = 60.0
REPLAY_AT_ONCE: Final = 500
LAST_EVENT_ID: Final = "last-event-id"


@operation("GET", "/changes", "changes:read", shapes.ChangesPage)
async def index(here: ApiContext, query: shapes.ChangesQuery) -> dict[str, Any]:
    """List changes after a sequence number."""
    async with changes.snapshot(here.db) as seq:
        if await changes.has_missed(here.db, query.after):
            return {"reset": True, "seq": seq}
        found = await changes.list_after(here.db, query.after, limit=query.limit)
    reached = found[-1].seq if found else query.after
    return {"items": [as_json(change) for change in found], "next": reached, "seq": seq}


@operation("GET", "/stream", "changes:read", None, media="text/event-stream")
async def stream(
    request: Request, here: ApiContext, caller: Caller, query: shapes.StreamQuery
) -> Response:
    """Stream changes as server-sent events.

    The stream ends when its caller loses access.
    """
    last = request.headers.get(LAST_EVENT_ID, "")
    after = int(last) if last.isdecimal() and len(last) < 19 else query.after
    admitted = AdmissionCheck(callers_of(request), caller)
    frames = _frames(here, after, admitted, checks=caller.may("services:read"))
    return Stream(
        frames,
        send_timeout=SEND_SECONDS,
        sep="\n",
        ping=query.ping or PING_SECONDS,
        ping_message_factory=_ping if query.ping else None,  # None sends a comment
    )


def _ping() -> ServerSentEvent:
    return ServerSentEvent(event="ping", data="{}", sep="\n")


class Stream(EventSourceResponse):
    """A stream that disconnects a client that stops reading; the client resumes at its position."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client disconnects or stops reading."""
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            logger.warning("A client of the change feed stopped reading; closing the connection.")
            with suppress(TimeoutError):
                async with asyncio.timeout(DISCONNECT_SECONDS):  # by then the system closes it
                    while (await receive())["type"] != "http.disconnect":
                        pass


async def _frames(
    here: ApiContext, after: int | None, admitted: AdmissionCheck, *, checks: bool
) -> AsyncIterator[bytes]:
    """Yield the changes, and the results of checks to a caller who may read services."""
    seq = await _newest(here) if after is None else after
    with here.hub.following(seq) as follower:
        yield b"retry: 2000\n" + _event("hello", seq, version=__version__)
        while await admitted():
            results = here.hub.results_after(follower.results) if checks else ()
            if results:
                follower.results = results[-1][0]
                yield b"".join(encoded for _, encoded in results)
                continue
            found = here.hub.frames_after(follower.seq)
            if found:
                follower.seq = found[-1][0]
                yield b"".join(encoded for _, encoded in found)
            elif found is None or follower.seq > here.hub.seq:
                try:
                    follower.seq, replayed = await _replay(here, follower.seq)
                except (Error, TimeoutError) as error:
                    logger.info("Closing a client of the change feed: %s", error)
                    return  # the client reconnects and requests the same changes
                if replayed:
                    yield replayed
                elif here.hub.seq <= follower.seq:  # the hub may have advanced meanwhile
                    await here.hub.more(CHECK_SECONDS)
            else:
                await here.hub.more(CHECK_SECONDS)


async def _newest(here: ApiContext) -> int:
    """Return the number of the newest change; the last known one if the database cannot be read."""
    try:
        return await changes.last_seq(here.db)
    except (Error, TimeoutError):
        return here.hub.seq


async def _replay(here: ApiContext, seq: int) -> tuple[int, bytes]:
    """Return the stored changes after `seq`, or a reset if some are missing."""
    async with reading(here.db):
        if await changes.has_missed(here.db, seq):
            seq = await changes.last_seq(here.db)
            return seq, _event("reset", seq)
        found = await changes.list_after(here.db, seq, limit=REPLAY_AT_ONCE)
    return (found[-1].seq if found else seq), b"".join(frame(change) for change in found)


def _event(name: str, seq: int, **more: object) -> bytes:
    head = f"id: {seq}\nevent: {name}\ndata: ".encode()
    return head + msgspec.json.encode({"seq": seq, **more}) + b"\n\n"
