"""Contradictions as a session leaves them: both claims stored, the old one weakened."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lamplighter.config.settings import Settings, read_settings
from lamplighter.domain.memory.memory import with_confidence
from lamplighter.domain.memory.review import ReviewKind
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, memories, reviews
from lamplighter.serve.home import database

if TYPE_CHECKING:
    from app import App


def contradiction(app: "App", old: str, new: str, **more: object) -> tuple[int, int, int]:
    """Let a memory of 0.80 be contradicted by one of 0.70; return both, and their review."""
    body = {"category": "timing", "service": "jellyfin", **more}
    first, second = (
        app.post("/api/v1/memories", {**body, "observation": text, "confidence": confidence})["id"]
        for text, confidence in ((old, 0.8), (new, 0.7))
    )
    [review] = open_cases(app, [(first, second)])
    return first, second, review


def client_session(app: "App", name: str, said: str, **more: object) -> int:
    """Let a client open a session, save and receive a memory, and end; return its number."""
    opened = {"id": name, "project": "shop"}
    app.post("/agentops/sessions", {**opened, "directory": "/srv/shop"})
    kept = {"session_id": name, "project": "shop", "type": "decision", "title": said[:80]}
    app.post("/agentops/observations", {**kept, "content": said, **more})
    app.post(
        f"/agentops/sessions/{name}/end",
        {"messages": [{"role": "user", "content": said}, {"role": "assistant", "content": "Done"}]},
    )
    [session, *_] = app.get("/api/v1/sessions?trigger=client")["items"]
    return int(session["id"])


def open_cases(app: "App", pairs: list[tuple[int, int]]) -> list[int]:
    """Open a review for each pair of an old and a new memory; return the reviews."""
    opening = _open_cases(read_settings(app.env), pairs)
    with ThreadPoolExecutor(1) as aside:  # a browser's own loop runs in this thread
        return aside.submit(asyncio.run, opening).result(timeout=60)


async def _open_cases(settings: Settings, pairs: list[tuple[int, int]]) -> list[int]:
    async with database(settings) as db:
        return [await _open_case(db, *pair) for pair in pairs]


async def _open_case(db: Database, old_id: int, new_id: int) -> int:
    async with writing(db):
        now = datetime.now(UTC)
        old, new = await memories.get(db, old_id), await memories.get(db, new_id)
        assert old is not None
        assert new is not None
        weak = with_confidence(old, old.confidence - 0.2)
        weak = replace(weak, version=old.version + 1)
        why = history.ChangeOrigin(
            cause="contradicted", actor="session", reason=f"contradicted by memory {new.id}"
        )
        await memories.update(db, weak, now=now)
        await history.append(db, old, weak, why, now=now)
        review = await reviews.insert(
            db,
            ReviewKind.CONFLICT,
            weak,
            new.id,
            text=new.observation,
            reason="says otherwise",
            session_id=None,
            now=now,
        )
        return review.id
