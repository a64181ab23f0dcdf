"""Contradictions as a session leaves them: both claims kept, the old one weakened."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lamplighter.config.settings import read_settings
from lamplighter.domain.memory import with_confidence
from lamplighter.domain.review import ReviewKind
from lamplighter.repository import history, memories, writing
from lamplighter.serve.home import database
from lamplighter.usecases.review import open_review

if TYPE_CHECKING:
    from app import App


def contradiction(app: "App", old: str, new: str, **more: object) -> tuple[int, int, int]:
    """Let a memory of 0.80 be contradicted by one of 0.70; return both, and their review."""
    body = {"category": "timing", "service": "jellyfin", **more}
    first, second = (
        app.post("/api/v1/memories", {**body, "observation": text, "confidence": confidence})["id"]
        for text, confidence in ((old, 0.8), (new, 0.7))
    )
    words = [sys.executable, __file__, str(first), str(second)]
    found = subprocess.check_output(words, env=app.env, text=True, timeout=30)
    return first, second, int(found)


def client_session(app: "App", name: str, said: str, **more: object) -> int:
    """Let a client open a session, save something, be told of it and end; return its number."""
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


async def open_case(old_id: int, new_id: int) -> int:
    async with database(read_settings()) as db, writing(db):
        now = datetime.now(UTC)
        old, new = await memories.get(db, old_id), await memories.get(db, new_id)
        assert old is not None
        assert new is not None
        weak = with_confidence(old, old.confidence - 0.2)
        weak = replace(weak, version=old.version + 1)
        why = history.Why(
            cause="contradicted", actor="session", reason=f"contradicted by memory {new.id}"
        )
        await memories.update(db, weak, now=now)
        await history.append(db, old, weak, why, now=now)
        review = await open_review(
            db,
            ReviewKind.CONFLICT,
            weak,
            new.id,
            said=new.observation,
            reason="says otherwise",
            session_id=None,
            now=now,
        )
        return review.id


async def open_cases(ids: list[int]) -> list[int]:
    """Open a case for each pair; return their reviews."""
    return [await open_case(*pair) for pair in zip(ids[::2], ids[1::2], strict=True)]


if __name__ == "__main__":
    sys.stdout.write(" ".join(map(str, asyncio.run(open_cases(list(map(int, sys.argv[1:])))))))
