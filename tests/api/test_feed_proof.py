"""The change feed under cuts, stalls and kills: each client gets each change once, in order."""

import asyncio
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import httpx2
import psutil
import pytest

import nursery
from lamplighter.repository.store.database import sqlite_url
from living import Server
from raw_stream import Follower, connected, drained
from thorough import examples

CLIENTS = examples(200)
CHANGES = 1_000
CUTS = 20
STALLED = examples(20, part=5)
LARGE_CHANGES, LARGE_BYTES = 1_500, 2_000
RSS_BYTES = 40 * 2**20
SECONDS = 270  # a loaded machine takes long, and loses nothing
WRITES = """
import asyncio, random, sys
from datetime import UTC, datetime
from pathlib import Path
from lamplighter.domain.change import ChangeOp
from lamplighter.repository import Database, writing
from lamplighter.repository.store import changes
from lamplighter.repository.feed.signals import ChangeNotifier
from lamplighter.serve.local import run_directory

async def main(url, home, count, size, pause, most):
    chance = random.Random(1)
    announce = ChangeNotifier(run_directory(Path(home)))
    made = 0
    async with Database(url, announce=announce) as db:
        while made < count:
            some = min(chance.randint(1, most), count - made)
            async with writing(db):
                for number in range(made, made + some):
                    row = {"number": number, "text": "x" * size}
                    now = datetime.now(UTC)
                    await changes.append(db, "event", number, ChangeOp.CREATED, now=now, row=row)
            made += some
            await asyncio.sleep(pause)

url, home, count, size, pause, most = sys.argv[1:]
asyncio.run(main(url, home, int(count), int(size), float(pause), int(most)))
"""
PRUNES = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from lamplighter.repository import Database, writing
from lamplighter.repository.store import changes

async def main(url):
    async with Database(url) as db, writing(db):
        print(await changes.prune(db, before=datetime.now(UTC) + timedelta(days=1)))

asyncio.run(main(sys.argv[1]))
"""


def asking(server: Server) -> httpx2.Client:
    headers = getattr(server, "headers", {})
    return httpx2.Client(base_url=server.url, headers=headers, timeout=20)


def address(server: Server) -> str:
    """Return the address of the server's database."""
    return sqlite_url(server.home.path / "lamplighter.db")


@contextmanager
def changing(
    server: Server, count: int, *, size: int = 100, pause: float = 0.01, most: int = 10
) -> Iterator[None]:
    """Commit changes in another process, several in each transaction."""
    words = address(server), str(server.home.path), *map(str, (count, size, pause, most))
    process = nursery.python("-c", WRITES, *words, stderr=subprocess.PIPE)
    try:
        yield
        _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors.decode()
    finally:
        process.kill()
        process.communicate()


def seq(server: Server) -> int:
    with asking(server) as client:
        return int(client.get("/api/v1/changes").json()["seq"])


async def test_repeatedly_disconnected_clients_receive_each_change_once(
    own_server: Server,
) -> None:
    start, chance = seq(own_server), random.Random(18)
    followers = [Follower(own_server, start) for _ in range(CLIENTS)]
    frame_bytes = 230

    with changing(own_server, CHANGES, pause=0.02):
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(
                *(
                    each.until(
                        start + CHANGES, mean_bytes=CHANGES * frame_bytes // CUTS, chance=chance
                    )
                    for each in followers
                )
            )

    expected = list(range(start + 1, start + CHANGES + 1))
    lost = sum(len(set(expected) - set(each.heard)) for each in followers)
    doubled = sum(len(each.heard) - len(set(each.heard)) for each in followers)
    cuts = sum(each.cuts for each in followers)
    told = f"{CLIENTS} clients, {cuts:,} cuts: {lost} lost, {doubled} doubled"
    assert (lost, doubled) == (0, 0), told
    assert all(each.heard == expected for each in followers), f"out of order; {told}"
    assert cuts > CLIENTS * CUTS * 3 // 4, f"too few cuts: {told}"
    assert sum(each.resets for each in followers) == 0, told


async def test_clients_miss_no_change_when_the_server_is_killed(own_server: Server) -> None:
    start, chance = seq(own_server), random.Random(9)
    followers = [Follower(own_server, start) for _ in range(50)]

    with changing(own_server, 600, pause=0.05):
        following = [
            asyncio.create_task(each.until(start + 600, chance=chance)) for each in followers
        ]
        for _ in range(3):
            await asyncio.sleep(chance.uniform(0.2, 0.6))
            await asyncio.to_thread(own_server.kill)
            await asyncio.to_thread(own_server.start)
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*following)

    expected = list(range(start + 1, start + 601))
    wrong = [number for number, each in enumerate(followers) if each.heard != expected]
    came_back = sum(each.refused for each in followers)
    assert wrong == [], f"{len(wrong)} of 50 clients lost or doubled; {came_back} came back"
    assert came_back >= 50, f"only {came_back} noticed a kill: the test shows nothing"


def connections(process: psutil.Process) -> int:
    """Count the open connections of clients."""
    states = Counter(each.status for each in process.net_connections("tcp"))
    return states[psutil.CONN_ESTABLISHED]


async def most_connections(
    process: psutil.Process, others: list[Follower], start: int, end: int
) -> int:
    """Return the peak of connections once all other clients have received a change."""
    most = 0
    while any(each.last < end for each in others):
        if all(each.last > start for each in others):
            most = max(most, connections(process))
        await asyncio.sleep(0.2)
    return most


async def test_clients_that_never_read_are_disconnected_and_delay_no_others(
    own_server: Server,
) -> None:
    start, chance = seq(own_server), random.Random(4)
    end = start + LARGE_CHANGES
    assert own_server._process is not None
    process = psutil.Process(own_server._process.pid)
    async with AsyncExitStack() as stack:
        stalled = [await connected(own_server, start, receive_bytes=4_096) for _ in range(STALLED)]
        for _, writer in stalled:
            stack.callback(writer.transport.abort)
        others = [Follower(own_server, start) for _ in range(STALLED)]
        before = process.memory_info().rss

        with changing(own_server, LARGE_CHANGES, size=LARGE_BYTES, pause=0.005):
            async with asyncio.timeout(SECONDS):
                most, *_ = await asyncio.gather(
                    most_connections(process, others, start, end),
                    *(each.until(end, chance=chance) for each in others),
                )
            grown = process.memory_info().rss - before
            async with asyncio.timeout(SECONDS):
                while connections(process) > 0:  # noqa: ASYNC110 (another process closes them)
                    await asyncio.sleep(0.2)

        expected = list(range(start + 1, end + 1))
        assert all(each.heard == expected for each in others)
        assert most >= STALLED + STALLED // 2, "they were not there: the test shows nothing"
        assert grown < RSS_BYTES, f"the server grew by {grown / 2**20:.1f} MB"
        for reader, writer in stalled:
            got = await drained(reader)
            writer.transport.abort()
            heard = [int(each) for each in _ids(got)]
            again = Follower(own_server, heard[-1] if heard else start)
            async with asyncio.timeout(20):
                await again.until(end, chance=chance)
            assert len(heard) < LARGE_CHANGES, "it took everything in: the test shows nothing"
            assert [*heard, *again.heard] == expected


def _ids(got: bytes) -> list[bytes]:
    """Return the numbers of the complete changes in a raw response."""
    parts = got.split(b"\n\n")[:-1]
    found = [
        dict(line.partition(b": ")[::2] for line in part.split(b"\n") if b": " in line)
        for part in parts
    ]
    return [each[b"id"] for each in found if each.get(b"event") == b"event"]


def test_a_client_behind_the_retention_reloads_and_matches_the_server(
    own_server: Server,
) -> None:
    chance, held = random.Random(3), {}

    def change(client: httpx2.Client, times: int) -> None:
        for number in range(times):
            ids = [each["id"] for each in memories(client)]
            if len(ids) < 5 or chance.random() < 0.5:
                body = {"category": "timing", "observation": f"Fact {number} {chance.random()}"}
                assert client.post("/api/v1/memories", json=body).status_code == 201
            elif chance.random() < 0.5:
                chosen = chance.choice(ids)
                client.patch(f"/api/v1/memories/{chosen}", json={"confidence": chance.random()})
            else:
                client.delete(f"/api/v1/memories/{chance.choice(ids)}")

    with asking(own_server) as client:
        change(client, 30)
        left_at = seq(own_server)
        held = {each["id"]: each for each in memories(client)}
        change(client, 30)
        pruned = nursery.finish("-c", PRUNES, address(own_server))
        away = client.get("/api/v1/changes", params={"after": left_at}).json()
        assert (away.get("reset"), int(pruned.stdout) > 40) == (True, True)
        page = client.get("/api/v1/memories", params={"limit": 200, "state": "all"}).json()
        held = {each["id"]: each for each in page["items"]}
        change(client, 30)
        items = client.get("/api/v1/changes", params={"after": page["seq"]}).json()["items"]
        for each in items:
            if each["op"] == "deleted":
                held.pop(each["id"], None)
            elif each["entity"] == "memory" and each["row"]:
                held[each["id"]] = each["row"]
        now = {each["id"]: each for each in memories(client)}
        own_server.kill()  # what it had in memory would have served
        own_server.start()
        follower = Follower(own_server, left_at)
        asyncio.run(_until_end(follower, seq(own_server)))

    assert held == now
    assert follower.resets == 1
    assert follower.last == seq(own_server)


async def _until_end(follower: Follower, end: int) -> None:
    async with asyncio.timeout(20):
        await follower.until(end, chance=random.Random(1))


def memories(client: httpx2.Client) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/memories", params={"limit": 200, "state": "all"})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


@pytest.fixture(autouse=True)
def bounded(own_server: Server) -> Iterator[None]:
    yield
    assert "Traceback" not in own_server.log
