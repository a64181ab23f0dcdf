"""A session file that arrives in pieces, split at any byte, gives the same rows as a whole one."""

import json
import random
from collections.abc import Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contexts import OPEN, ingesting
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.tail import Tail
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import tables
from lamplighter.usecases.ingest import session_lines
from thorough import ALL, PART, examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
READ = ("sessions", "memories", "events", "markers", "history", "changes", "checks", "findings")
PIECES = examples(200)


def said(words: str) -> bytes:
    content = {"content": [{"type": "text", "text": words}]}
    return json.dumps({"type": "assistant", "message": content}, ensure_ascii=False).encode()


GOLDEN = b"".join(
    (
        b"\xef\xbb\xbf" + json.dumps({"type": "system", "subtype": "init"}).encode() + b"\r\n",
        said("[MEMORY:timing:jellyfin] Braucht ü60 s 日本 🎬\n[EVENT:info:caddy] läuft") + b"\n",
        said("[MEMORY:timing:jellyfin] Braucht ü60 s 日本 🎬") + b"\r\n",
        b'{"type": "user", "message": {"content": [{"type": "tool_result", "content": "\xf0\x9f'
        b'\x8e\xac [MEMORY:timing:x] not taken"}]}}\n',
        b"\n",
        b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "\xff[EVENT:'
        b'warning] odd byte"}]}}\n',
        b"not JSON \xe2\x82\n",
        said("`[MEMORY:behavior:y] in code` [ESCALATE:jellyfin] é") + b"\n",
        b'{"type": "result", "subtype": "success", "is_error": false, "result": "Fertig \xc3\xa9"}',
    )
)


def lines_of(path: Path, pieces: list[bytes]) -> Iterator[list[Line]]:
    """Yield the lines that a tail reads while the pieces are appended in turn."""
    path.write_bytes(b"")
    tail = Tail(path)
    try:
        for piece in pieces:
            with path.open("ab") as file:
                file.write(piece)
            while not tail.at_end:
                if found := tail.read():
                    yield found
        last = tail.last()
        if last:
            yield [last]
    finally:
        tail.close()


@asynccontextmanager
async def undone(db: Database) -> Any:
    transaction = await db.transaction()
    try:
        yield
    finally:
        await transaction.rollback()


async def rows(db: Database, path: Path, pieces: list[bytes]) -> dict[str, list[Any]]:
    """Ingest the pieces, return all resulting rows, and roll everything back."""
    async with undone(db):
        async with writing(db):
            plan = SessionPlan(tier=1, engine="exec")
            session = await sessions.insert(db, plan, model=None, epoch=1, now=NOON)
        taking = ingesting(db, session, OPEN, ["Jellyfin", "caddy"])
        for lines in lines_of(path, pieces):
            await session_lines.ingest(taking, lines, now=NOON)
        found = {}
        for name in READ:
            table = tables.metadata.tables[name]
            found[name] = [dict(row) for row in await db.fetch_all(table.select())]
        # how often the counters of a session were told of depends on the pieces
        found["changes"] = [each for each in found["changes"] if each["entity"] != "session"]
        for each in found["changes"]:
            each.pop("seq")
        for each in found["sessions"]:
            each.pop("version")
        return found


async def test_a_whole_file_is_ingested_as_expected(db: Database, tmp_path: Path) -> None:
    found = await rows(db, tmp_path / "1.jsonl", [GOLDEN])

    assert [each["observation"] for each in found["memories"]] == ["Braucht ü60 s 日本 🎬"]
    assert [each["state"] for each in found["markers"]].count("taken") >= 4
    assert "ignored" in [each["state"] for each in found["markers"]]
    texts = [each["text"] for each in found["events"]]
    assert "läuft" in texts
    assert any("odd byte" in text for text in texts)
    assert len(texts) == 3, texts  # a line that is no JSON is not of the stream
    assert {each["service"] for each in found["memories"]} == {"Jellyfin"}
    [session] = found["sessions"]
    assert session["log_offset"] == len(GOLDEN)


async def test_a_file_split_at_every_byte_gives_the_same_rows(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    whole = await rows(db, path, [GOLDEN])

    step = 1 if ALL else PART
    for at in range(1 + len(GOLDEN) % step, len(GOLDEN), step):
        assert await rows(db, path, [GOLDEN[:at], GOLDEN[at:]]) == whole, f"cut at byte {at}"


async def test_a_file_in_many_pieces_gives_the_same_rows(db: Database, tmp_path: Path) -> None:
    path, chance = tmp_path / "1.jsonl", random.Random(12)
    whole = await rows(db, path, [GOLDEN])

    for turn in range(PIECES):
        cuts = sorted(chance.sample(range(1, len(GOLDEN)), chance.randint(2, 60)))
        pieces = [GOLDEN[a:b] for a, b in zip([0, *cuts], [*cuts, len(GOLDEN)], strict=True)]
        assert await rows(db, path, pieces) == whole, f"turn {turn}: {cuts}"
    single = [GOLDEN[at : at + 1] for at in range(len(GOLDEN))]
    assert await rows(db, path, single) == whole


@pytest.mark.parametrize("size", [1, 3, 4_096, 65_536])
def test_long_lines_are_read_equally_in_pieces_of_any_size(tmp_path: Path, size: int) -> None:
    content = b"\n".join(said("ü" * length) for length in (10, 3_000, 70_000)) + b"\n"
    content = content[:20_000] if size < 10 else content
    pieces = [content[at : at + size] for at in range(0, len(content), size)]

    def flat(parts: list[bytes]) -> list[Line]:
        return [line for lines in lines_of(tmp_path / "1.jsonl", parts) for line in lines]

    assert flat(pieces) == flat([content])
