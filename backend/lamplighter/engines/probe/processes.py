"""One attempt of a check of processes."""

import asyncio
import os
from contextlib import suppress

import psutil

from lamplighter.domain.check import ProcessCheck, spans
from lamplighter.engines.probe import patterns
from lamplighter.engines.probe.facts import Answer
from lamplighter.engines.probe.words import shown, size


async def ask(check: ProcessCheck) -> Answer:
    """Count the processes of a name, and what memory they take all together."""
    # in a thread: the system is read file by file
    return await asyncio.to_thread(_looked, check)


def _looked(check: ProcessCheck) -> Answer:
    found = [each for each in psutil.process_iter() if _is_meant(check, each)]
    if problem := _miscounted(check, len(found)):
        return Answer(ok=False, answered=None if found else False, detail=shown(problem))
    memory = sum(map(_memory, found))
    if check.memory_bytes is None or memory <= check.memory_bytes:
        return Answer(ok=True)
    return Answer(ok=True, warning=f"takes {size(memory)}, more than {size(check.memory_bytes)}")


def _is_meant(check: ProcessCheck, process: psutil.Process) -> bool:
    """Say whether it is one of those; what has just ended or may not be read is not."""
    with suppress(psutil.Error, OSError):
        if process.name() != check.process or process.status() == psutil.STATUS_ZOMBIE:
            return False
        line = os.fsencode(" ".join(process.cmdline()))
        return check.command is None or patterns.found(check.command, line)
    return False


def _miscounted(check: ProcessCheck, count: int) -> str:
    if check.counts is None:
        wrong, expected = count == 0, ""
    else:
        wrong, expected = count not in check.counts, f", expected {spans((check.counts,))}"
    if not wrong:
        return ""
    like = f" {check.command}" if check.command else ""
    if count == 0:
        return f"not running: {check.process}{like}"
    return f"{count} running: {check.process}{like}{expected}"


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.Error, OSError):
        return int(process.memory_info().rss)
    return 0
