"""kill -9 of the web process under load: acknowledged writes persist, and clients catch up."""

import asyncio
import random
import threading
from contextlib import suppress
from dataclasses import dataclass, field

import httpx2
import pytest
from homes import Home
from staged import client, remembered, serving

from living import Server
from raw_stream import Follower
from thorough import examples

KILLS = examples(50)
WRITERS = 3
CLIENTS = 5
ALL = "SELECT id, observation FROM memories"


@dataclass
class Writer:
    """Sends memories until it is stopped, and records which were acknowledged."""

    name: str
    server: Server
    stop: threading.Event
    asked: list[str] = field(default_factory=list)
    kept: dict[int, str] = field(default_factory=dict)

    def work(self) -> None:
        while not self.stop.is_set():
            with suppress(httpx2.HTTPError), client(self.server, 10) as asking:
                while not self.stop.is_set():
                    self._ask(asking)
            self.stop.wait(0.02)

    def _ask(self, asking: httpx2.Client) -> None:
        text = f"Fact {len(self.asked)} of writer {self.name}"
        self.asked.append(text)
        answer = remembered(asking, text)
        assert answer.status_code == 201, answer.text
        memory = answer.json()
        assert memory["observation"] == text
        self.kept[memory["id"]] = text


@pytest.mark.timeout(300)
async def test_kills_neither_lose_nor_duplicate_acknowledged_writes(home: Home) -> None:
    chance, stop = random.Random(50), threading.Event()
    with serving(home) as server:
        writers = [Writer(str(number), server, stop) for number in range(WRITERS)]
        followers = [Follower(server, 0) for _ in range(CLIENTS)]
        writing = [asyncio.create_task(asyncio.to_thread(each.work)) for each in writers]
        following = [asyncio.create_task(each.until(10**9, chance=chance)) for each in followers]
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.05, 0.25))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        stop.set()
        await asyncio.gather(*writing)
        last = int(str(home.value("SELECT max(seq) FROM changes")))
        async with asyncio.timeout(20):
            while any(each.last < last for each in followers):  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.05)
        for each in following:
            each.cancel()
        await asyncio.gather(*following, return_exceptions=True)

    rows = {int(str(number)): str(text) for number, text in home.rows(ALL)}
    kept = {number: text for each in writers for number, text in each.kept.items()}
    asked = [text for each in writers for text in each.asked]
    lost = {number for number, text in kept.items() if rows.get(number) != text}
    doubled = len(rows) - len(set(rows.values()))
    told = f"{KILLS} kills, {len(kept):,} acknowledged of {len(asked):,} asked, {len(rows):,} rows"
    assert (lost, doubled) == (set(), 0), told
    assert set(rows.values()) <= set(asked), told
    assert len(kept) > KILLS, f"hardly any load: {told}"
    assert home.value("PRAGMA integrity_check") == "ok"
    assert home.value("SELECT count(*) FROM history") == len(rows), told
    for each in followers:
        assert each.heard == list(range(1, last + 1)), f"{each.refused} times back; {told}"
        seen = {number: memory["observation"] for number, memory in each.memories.items()}
        assert seen == rows, told
