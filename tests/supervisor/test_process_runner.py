"""`lamplighter up` while no process can be started."""

import asyncio

from descriptors import descriptors
from lamplighter.domain.errors import EXIT_UNUSABLE
from lamplighter.serve.process_runner import ProcessRunner


async def test_a_process_that_cannot_be_started_is_started_later() -> None:
    lines: list[str] = []
    refused = asyncio.Event()

    def note(line: str) -> None:
        lines.append(line)
        refused.set()

    with descriptors(1):
        running = asyncio.create_task(ProcessRunner(("no-such-command",), note).run())
        await refused.wait()

    assert await running == EXIT_UNUSABLE  # it was started, and refused its name
    assert lines[0].startswith("no-such-command could not be started")
