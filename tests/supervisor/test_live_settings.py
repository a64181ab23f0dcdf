"""Settings that change while a supervisor runs."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from inline_supervisor import leading

from lamplighter.config.settings import read_settings
from lamplighter.domain.configuration import Configuration
from lamplighter.repository import Database
from lamplighter.repository.feed.signals import create_listener
from lamplighter.repository.upkeep import leases
from lamplighter.serve.editing.live import LiveSettings


async def test_changed_interval_starts_the_next_round_without_a_restart(
    db: Database, url: str, tmp_path: Path
) -> None:
    async with (
        leading(db, tmp_path, engine="exec") as bench,
        create_listener(url, tmp_path) as line,
    ):
        await bench.supervisor.step_down()
        running = asyncio.create_task(bench.supervisor.run(line))
        await _until(lambda: bench.rows("sessions"), 1)
        active = bench.supervisor.context.active

        active.adopt(replace(active, interval=1.0, dry_run=True))
        bench.supervisor.reconfigured.set()

        await _until(lambda: bench.rows("sessions"), 2)
        leader = await leases.get(db)
        assert leader is not None
        assert (leader.interval_seconds, leader.dry_run) == (1.0, True)
        bench.supervisor.drain()
        with suppress(asyncio.CancelledError):
            await running
        assert await bench.supervisor.lead()


async def _until(rows: object, count: int) -> None:
    began = time.monotonic()
    while len(await rows()) < count:  # type: ignore[operator]
        assert time.monotonic() - began < 60
        await asyncio.sleep(0.05)


def test_invalid_settings_file_changes_no_setting(tmp_path: Path) -> None:
    given = {"LAMPLIGHTER_HOME": str(tmp_path)}
    applied = []
    live = LiveSettings(read_settings(given), applied.append)
    (tmp_path / "lamplighter.toml").write_text('max_turns = "many"\n')

    live.refresh()

    assert (applied, live.current.max_turns) == ([], 50)


def test_adopted_configuration_updates_every_reference() -> None:
    held = Configuration()
    holders = [held, held]

    held.adopt(Configuration(max_turns=7))

    assert [each.max_turns for each in holders] == [7, 7]
