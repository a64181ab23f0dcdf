"""One attempt of a check that runs a program."""

import asyncio
import os
from typing import Final

from lamplighter.domain.check import CommandCheck
from lamplighter.engines.bounded import Ended, bounded
from lamplighter.engines.probe import patterns
from lamplighter.engines.probe.facts import Answer
from lamplighter.engines.probe.words import harmless, seconds, shown

OUTPUT_BYTES: Final = 1024 * 1024
SEEN_BYTES: Final = 400

_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")


async def ask(check: CommandCheck) -> Answer:
    """Run the program, and judge how it ended and what it printed."""
    ended = await bounded(
        check.argv,
        directory=check.directory,
        timeout=check.timeout,
        output_bytes=OUTPUT_BYTES,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    if problem := _problem(check, ended):
        return Answer(ok=False, detail=harmless(problem))
    if check.output is None:
        return Answer(ok=True)
    # in a thread: a long search must not make the other services wait
    if await asyncio.to_thread(patterns.found, check.output, ended.output):
        return Answer(ok=True)
    seen = harmless(ended.output[:SEEN_BYTES].decode(errors="replace"))
    return Answer(ok=False, detail=shown(f"output does not match {check.output}"), seen=seen)


def _problem(check: CommandCheck, ended: Ended) -> str:
    if ended.error:
        return ended.error
    if ended.exit_code is None:
        return f"timed out after {seconds(check.timeout)}"
    if any(ended.exit_code in span for span in check.exits):
        return ""
    lines = ended.errors.decode(errors="replace").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return f"ended with {ended.exit_code}, expected {check.expected}{said}"
