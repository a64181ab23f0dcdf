"""The real Claude CLI on the stand-in for its API. Without a CLI the tests fail."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.sessions.transcript import Finished, Text, TranscriptItem
from lamplighter.engines import EngineInput, process, stream
from lamplighter.engines.claude import ClaudeEngine

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = "sk-ant-stub-key-0123456789"
RUN_SECONDS = 60
AT_ONCE = 4


def engine(url: str, **more: str) -> ClaudeEngine:
    """Return the engine as a user configures it whose API is at `url`."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ours = {"LAMPLIGHTER_DATABASE_URL": "postgresql://u:hidden-word@h/d", "GITHUB_TOKEN": "hidden"}
    given = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_MAX_RETRIES": "0"}
    found = ClaudeEngine(environ={**kept, **ours, **given, **more})
    assert found.installed() is not None, found.probe()
    return found


def task(number: int = 1, **more: Any) -> EngineInput:
    """Return the task of a session of tier 1."""
    session = Session(
        id=number,
        tier=1,
        engine="claude",
        trigger=Trigger.MANUAL,
        status=Status.RUNNING,
        started_at=NOON,
    )
    given = {"system": "You look.", "injected": "## Environment\n", "message": "Look."}
    return EngineInput(
        session=session, **{**given, "model": "claude-haiku-4-5", "max_turns": 9, **more}
    )


@dataclass(frozen=True)
class Ended:
    """The result of a CLI: its exit status, its output as items, and its leftovers."""

    status: int
    items: list[TranscriptItem]
    errors: list[str]
    left: list[str]

    @property
    def finished(self) -> Finished:
        found = [each for each in self.items if isinstance(each, Finished)]
        assert len(found) == 1, self
        return found[0]

    @property
    def believed(self) -> list[str]:
        """Return the assistant's own text, as used for markers."""
        said = [each.believed for each in self.items if isinstance(each, Text)]
        return [words for words in said if words]


async def run(
    directory: Path,
    engine: ClaudeEngine,
    task: EngineInput,
    *,
    stop_when: asyncio.Event | None = None,
) -> Ended:
    """Run one session of the CLI to its end; interrupt it when it is to stop."""
    scratch = directory / f"{task.session.id}"
    scratch.mkdir(parents=True)
    output = scratch.with_suffix(".jsonl")
    given = engine.command(replace(task, scratch=str(scratch)))
    started = await process.start(given, session_id=task.session.id, output=output, scratch=scratch)
    try:
        async with asyncio.timeout(RUN_SECONDS):
            if stop_when is not None:
                await stop_when.wait()
                started.interrupt()
            status = await started.wait()
    finally:
        started.kill()
        await started.wait()
    lines = output.read_bytes().splitlines()
    items = [item for line in lines for item in stream.parse(line, usage=True)]
    left = sorted(str(path.relative_to(scratch)) for path in scratch.rglob("*"))
    return Ended(status, items, started.last_words(), left)


async def run_all(
    directory: Path, engines: Mapping[str, ClaudeEngine], **more: Any
) -> dict[str, Ended]:
    """Run a session with each engine, some in parallel: a CLI takes 200 MB."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, by: ClaudeEngine) -> Ended:
        async with free:
            return await run(directory, by, task(number, **more))

    sessions = [one(number, by) for number, by in enumerate(engines.values())]
    return dict(zip(engines, await asyncio.gather(*sessions), strict=True))
