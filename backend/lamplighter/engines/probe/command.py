"""One attempt of a check that runs a program."""

import asyncio
import os
from collections.abc import Sequence
from typing import Final

from lamplighter.domain.check import CommandCheck
from lamplighter.domain.text import head_and_tail
from lamplighter.engines.bounded import Ended, bounded
from lamplighter.engines.probe import patterns
from lamplighter.engines.probe.facts import Answer
from lamplighter.engines.probe.words import harmless, seconds, shown

OUTPUT_BYTES: Final = 1024 * 1024
BRIEF_CHARACTERS: Final = 600
PRINTED_CHARACTERS: Final = 8_000

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
        return _failed(harmless(problem), ended)
    if check.output is None:
        return Answer(ok=True)
    # in a thread: a long search must not make the other services wait
    if await asyncio.to_thread(patterns.found, check.output, ended.output):
        return Answer(ok=True)
    return _failed(shown(f"output does not match {check.output}"), ended)


def _problem(check: CommandCheck, ended: Ended) -> str:
    if ended.error:
        return ended.error
    if ended.exit_code is None:
        return f"timed out after {seconds(check.timeout)}"
    if any(ended.exit_code in span for span in check.exits):
        return ""
    return f"ended with {ended.exit_code}, expected {check.expected}"


def _failed(problem: str, ended: Ended) -> Answer:
    """Return a failure with the beginning and the end of what the program printed.

    The line that names the cause is seldom the last one.
    """
    parts = ended.errors, ended.errors_end, ended.output, ended.output_end
    printed = "\n".join(part.decode(errors="replace") for part in parts)
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    brief = " | ".join(_harmless(lines, BRIEF_CHARACTERS))
    return Answer(
        ok=False,
        detail=f"{problem}: {brief}" if brief else problem,
        printed="\n".join(_harmless(lines, PRINTED_CHARACTERS)),
    )


def _harmless(lines: Sequence[str], limit: int) -> list[str]:
    return [harmless(line, limit) for line in head_and_tail(lines, limit)]
