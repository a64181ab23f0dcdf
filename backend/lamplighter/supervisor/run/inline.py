"""Sessions of a known fix, in the supervisor: their actions are decided, and no engine starts."""

import asyncio
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from pathlib import Path
from time import monotonic

from lamplighter.engines import Command
from lamplighter.engines.probe import request, tiers
from lamplighter.engines.probe.lines import Output
from lamplighter.engines.probe.text import harmless
from lamplighter.engines.probe.watch import RunCheck


@dataclass(frozen=True, slots=True)
class InlineRun:
    """A session of the probe as a task.

    Its checks run in the check process, and the gate runs its action.
    """

    task: asyncio.Task[int]
    mark: str = ""

    async def wait(self) -> int:
        """Wait for the end of the run and return its exit status."""
        await asyncio.wait({self.task})
        return 1 if self.task.cancelled() or self.task.exception() else self.task.result()

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self.task.done()

    @property
    def disk_full(self) -> bool:
        """Whether the disk was full while writing its output."""
        if not self.task.done() or self.task.cancelled():
            return False
        error = self.task.exception()
        return isinstance(error, OSError) and error.errno in {ENOSPC, EDQUOT}

    def interrupt(self) -> None:
        """Stop the run."""
        self.task.cancel()

    terminate = kill = interrupt

    def last_words(self) -> list[str]:
        """Return nothing: such a session reports errors in its output."""
        return []


def start(command: Command, output: Path, run_check: RunCheck) -> InlineRun:
    """Begin the work that a command of the probe would do in a process of its own."""
    return InlineRun(asyncio.create_task(_run(command.stdin, output, run_check)))


async def _run(raw: bytes, path: Path, run_check: RunCheck) -> int:
    asked = request.read(raw)
    with path.open("ab") as file:
        output = Output(file, monotonic(), asked.session)
        try:
            output.end(await tiers.run(asked, output.emit, run_check))
        except asyncio.CancelledError:
            output.end("The session was interrupted.", failed=True)
            raise
        except Exception as error:  # as in its own process, report our own errors in the output
            words = f"The probe failed: {type(error).__name__}: {error}"
            output.end(harmless(words), failed=True)
            return 1
    return 0
