"""Many sessions in one supervisor leave no process, file, socket or thread behind."""

import asyncio
import json
import os
import shlex
import threading
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from inline_supervisor import ModelEngine, leading

from lamplighter.engines import ToolEndpoint, Trait
from lamplighter.engines.process import MARK
from lamplighter.repository import Database
from lamplighter.supervisor.tools.toolbox import Toolbox
from thorough import examples

FIRST = 10
"""Sessions after which everything that is loaded or opened at first use has been."""
SESSIONS = FIRST + examples(120)

DONE = {"type": "result", "is_error": False, "result": "well", "num_turns": 1}
SAID = {"type": "assistant", "message": {"content": [{"type": "text", "text": "all is well"}]}}


class Doors(ModelEngine):
    """An engine with all traits for which a session opens an interface."""

    traits = frozenset({Trait.MODEL, Trait.TOOLS, Trait.MCP})


@dataclass(frozen=True)
class Held:
    """Counts of the resources of this process, and of its child processes."""

    descriptors: int
    threads: int
    children: int
    sockets: int
    scratch: int


def of_session(child: psutil.Process) -> bool:
    """Whether a session started this process: a database server may have restarted meanwhile."""
    try:
        return child.status() == psutil.STATUS_ZOMBIE or MARK in child.environ()
    except psutil.Error:
        return False


def below() -> set[psutil.Process]:
    """Return all descendants of this process, identified also by their start times."""
    return set(psutil.Process().children(recursive=True))


def held(path: Path, others: set[psutil.Process]) -> Held:
    process = psutil.Process()
    children = below() - others
    return Held(
        descriptors=process.num_fds(),
        threads=threading.active_count(),
        children=sum(of_session(each) for each in children),
        sockets=len(list(path.glob("*.sock"))),
        scratch=len([name for name in os.listdir(path / "sessions") if name.isdigit()]),
    )


async def fill_pool() -> None:
    """Start all threads of the event loop's pool, which otherwise grows by chance."""
    size = min(32, (os.cpu_count() or 1) + 4)
    await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.1) for _ in range(size)))


# it takes seconds: a leak shows after many sessions only
async def test_many_sessions_leave_nothing_behind(db: Database, tmp_path: Path) -> None:
    others = below()  # of other tests: what they left falls to this process, dead or alive
    open_doors: set[int] = set()

    @asynccontextmanager
    async def doors(box: Toolbox):  # type: ignore[no-untyped-def]
        open_doors.add(id(box))
        yield ToolEndpoint("http://127.0.0.1:9/mcp", "token")
        open_doors.remove(id(box))

    printed = "".join(f"{json.dumps(each)}\n" for each in (SAID, DONE))
    engine = Doors(shlex.join(["/usr/bin/printf", "%s", printed]))
    async with leading(db, tmp_path, engines={}, open_tools=doors) as bench:
        bench.change(engines={"model": engine})
        for _ in range(FIRST):
            await bench.make()
        await fill_pool()
        before = held(tmp_path, others)
        for _ in range(SESSIONS - FIRST):
            session = await bench.make()
        after = held(tmp_path, others)

    assert session.id == SESSIONS
    assert {row["status"] for row in await bench.rows("sessions")} == {"completed"}
    assert (after.children, after.sockets, after.scratch) == (0, 0, 0)
    assert open_doors == set()
    assert after.descriptors <= before.descriptors
    assert after.threads <= before.threads
