"""A client of the change feed that acts like a browser: it reads messages and stores their ids."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from living import Server

PATIENCE = 20.0


@dataclass(frozen=True)
class Message:
    """One server-sent event."""

    id: int | None
    event: str
    data: dict[str, Any]


@contextmanager
def listening(
    server: Server, *, after: int | None = None, last: int | None = None
) -> Iterator[Iterator[Message]]:
    """Follow the stream; a read that takes longer than PATIENCE fails."""
    headers = server.headers | ({} if last is None else {"Last-Event-ID": str(last)})
    address = f"{server.url}/api/v1/stream"
    query = {} if after is None else {"after": after}
    with (
        httpx2.Client(timeout=PATIENCE) as client,
        client.stream("GET", address, headers=headers, params=query) as answer,
    ):
        assert answer.status_code == 200
        yield _messages(answer.iter_lines())


def _messages(lines: Iterator[str]) -> Iterator[Message]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            number = int(fields["id"]) if "id" in fields else None
            yield Message(number, fields["event"], json.loads(fields["data"]))
            fields = {}


def take(messages: Iterator[Message], count: int) -> list[Message]:
    return [next(messages) for _ in range(count)]
