"""Entries as clients store them: through the routes of AgentOps."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from httpx2 import ASGITransport, AsyncClient

from benchmarks.quality.sets import Entry, Way
from lamplighter.api.agentops.app import create_app
from lamplighter.api.context import MemoryServiceContext
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database
from lamplighter.repository.store.tables import memories

_REFS: Final = sa.select(memories.c.id, memories.c.source_ref)


@dataclass(slots=True)
class Clock:
    """The service's clock in the benchmark."""

    at: datetime

    def __call__(self) -> datetime:
        """Return the time."""
        return self.at


async def kept(db: Database, entries: Sequence[Entry], *, now: datetime) -> list[int]:
    """Store entries by POST or by importing an export; return their numbers."""
    clock = Clock(now)
    ids: list[int] = []
    async with _service(db, clock) as client:
        for each in entries:
            if each.way is Way.IMPORTED:
                ids.append(0)
                continue
            clock.at = each.at if each.way is Way.LIVE else now
            answer = await client.post("/observations", json=_posted(each))
            answer.raise_for_status()
            ids.append(answer.json()["id"])
        clock.at = now
        await _import(db, client, entries, ids)
    return ids


@asynccontextmanager
async def _service(db: Database, clock: Clock) -> AsyncIterator[AsyncClient]:
    @asynccontextmanager
    async def opening() -> AsyncIterator[MemoryServiceContext]:
        yield MemoryServiceContext(db=db, now=clock, redact=Redactor())

    app = create_app(opening, strict=False, tokens=False)
    async with app.router.lifespan_context(app):
        transport = ASGITransport(app=app)
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:7437") as client:
            yield client


def _posted(each: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "manual", "content": each.words, "project": each.project}
    if each.name:
        found["title"] = each.name
    if each.session is not None:
        found["session_id"] = f"{each.project}/{each.session}"
    return found


async def _import(
    db: Database, client: AsyncClient, entries: Sequence[Entry], ids: list[int]
) -> None:
    """Import as one export; text and time identify the memory of each entry."""
    wanted = [number for number, each in enumerate(entries) if each.way is Way.IMPORTED]
    rows = [
        {
            **_posted(entries[number]),
            "id": number + 1,
            "created_at": f"{entries[number].at:%Y-%m-%dT%H:%M:%SZ}",
        }
        for number in wanted
    ]
    if not rows:
        return
    answer = await client.post("/import", json={"observations": rows})
    answer.raise_for_status()
    found = await db.fetch_all(_REFS)
    of = {row["source_ref"]: row["id"] for row in found}
    for number in wanted:
        ids[number] = of[f"observation {number + 1}"]


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
